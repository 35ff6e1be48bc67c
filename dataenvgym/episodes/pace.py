"""How fast a phase and an episode go, and how long they still take at that pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dataenvgym.episodes.summary import IterationSummary
from dataenvgym.progress import ProgressMessage

_TRUSTED_AFTER = 2.0
"""Seconds of counting from which its pace says something."""


class Pace:
    """The pace at which one thing is counted; a count of another thing starts anew.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._total: int | None = None
        self._first, self._began = 0, 0.0
        self._done, self._skipped, self._at = 0, 0, 0.0

    def hear(self, message: ProgressMessage) -> None:
        """Take in how far it is; messages without a count change nothing."""
        if message.done is None or message.total is None:
            return
        now, done = self._clock(), message.done - message.skipped
        if message.total != self._total or done < self._done:
            self._total = message.total
            self._first, self._began = done, now
        self._done, self._skipped, self._at = done, message.skipped, now

    def seconds_left(self) -> float | None:
        """Until all is counted; None before that can be said."""
        counted, took = self._done - self._first, self._at - self._began
        if self._total is None or not counted or took < _TRUSTED_AFTER:
            return None
        left = took / counted * (self._total - self._skipped - self._done)
        return max(0.0, left - (self._clock() - self._at))


def episode_seconds_left(
    iterations: Sequence[IterationSummary], n_iterations: int, elapsed: float
) -> float | None:
    """Until the last iteration ends, if all take as long as those so far; None before the first.

    Args:
        iterations: those that are finished. Iteration 0, in which nothing is trained, is no guide.
        n_iterations: how many there will be.
        elapsed: seconds of the one that runs.
    """
    seconds = [i.seconds.get("total", 0.0) for i in iterations if i.iteration]
    if not seconds:
        return None
    each = sum(seconds) / len(seconds)
    return max(0.0, each * (n_iterations - len(seconds)) - elapsed)
