"""Processes of the host, and acting as soon as a condition holds."""

import threading
from collections.abc import Callable
from pathlib import Path

from tests.waiting import eventually


def processes_with(word: str) -> list[int]:
    """The host's processes with the word in their command line or environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if word.encode() in text:
                found.append(int(folder.name))
    return found


def once(condition: Callable[[], bool], action: Callable[[], object]) -> None:
    """Act in another thread as soon as the condition holds."""
    threading.Thread(target=lambda: eventually(condition) and action(), daemon=True).start()
