"""The same small runs with two versions of the package, compared value by value.

`make golden BASE=COMMIT` runs each script of `scripts/` twice: with the package of the commit BASE
and with that of this checkout, on one thread. `facts` compares what they left: records, datasets,
adapters, replies, scores, results. A change that should keep all results shows no difference.

The scripts use only commands and files that the pages describe, so they fit both versions. **They
never change in a commit that changes the package**: a script that moves with the code compares two
different things. Where a newer package writes the same fact elsewhere, `facts.FACTS` gets a second
place.
"""
