"""Waiting for what happens elsewhere, without a guess at how long it takes."""

import time
from collections.abc import Callable
from typing import TypeVar

from dataenvgym.events import CancelledTask, raise_if_cancelled

T = TypeVar("T")


def wait_for(condition: Callable[[], T], *, seconds: float = 60.0) -> T:
    """What the condition returns as soon as it holds; fails if it never does.

    Args:
        seconds: more than only a busy machine takes.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.005)
    return value


def eventually(condition: Callable[[], bool], *, seconds: float = 60.0) -> bool:
    """Whether the condition comes to hold."""
    try:
        return wait_for(condition, seconds=seconds)
    except AssertionError:
        return False


def is_cancelled() -> bool:
    """Whether the pool of this task was cancelled."""
    try:
        raise_if_cancelled()
    except CancelledTask:
        return True
    return False
