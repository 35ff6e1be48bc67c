"""Where a run finds its files."""

WORK, CODE = "/sandbox/work", "/sandbox/code"
MAIN = f"{CODE}/main.py"
WRITABLE = {"work": WORK, "code": CODE, "shm": "/dev/shm", "tmp": "/tmp"}
"""Folders by their names in the one file system of a run."""
