"""The files of a run, and the modules that are imported before it."""

WORK, CODE = "/sandbox/work", "/sandbox/code"
MAIN = f"{CODE}/main.py"
WRITABLE = {"work": WORK, "code": CODE, "shm": "/dev/shm", "tmp": "/tmp"}
"""Folders by their names in the one file system of a run."""

# Not `threading`, nor modules that need it: each fork would pay more for it than for the fork.
COMMON_MODULES = (
    "array bisect cmath collections contextlib copy datetime decimal enum fractions functools "
    "hashlib heapq itertools json math numbers operator random re statistics string textwrap time "
    "typing unicodedata"
)
"""Modules of the standard library that are imported once, for all runs."""
