"""Code: the student writes Python, and tests in a sandbox decide whether it is right.

problem.py      the problem: entry point, starter code, files, tests
extraction.py   finds the code in a reply, however it is wrapped; `fences.py` finds the blocks
judging.py      runs tests on code, gives a verdict: `by_output.py` for programs that read stdin,
                `by_harness.py` for the rest; `harness` is the program inside the sandbox
environment.py  one problem, in one try or several: `dataenvgym/Code-v0`
sandboxed.py    shared by tasks with code: the sandbox, judging training records, votes
task.py         problems from files and named data sets; `loaders.py`, `contests.py` read rows
"""
