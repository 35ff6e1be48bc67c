"""Writes the problems that come with the worlds.

    python -m dataenvgym.tasks.tool_use.worlds.writing

writer    what the three have in common: phrases are taken in turn, rows are checked
shop      the requests of a shop's customers
calendar  what Mara wants of her calendar
wallet    what Noor wants of her wallet

The same code writes the same files. The audit (`dataenvgym worlds audit`) proves them.
"""
