"""Waiting for events of processes, without fixed delays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path


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


def eventually(condition: Callable[[], bool], *, within: float = 30.0) -> bool:
    """Whether the condition comes to hold; so much time only a busy machine takes."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def once(condition: Callable[[], bool], action: Callable[[], object]) -> None:
    """Act in another thread as soon as the condition holds."""
    threading.Thread(target=lambda: eventually(condition) and action(), daemon=True).start()
