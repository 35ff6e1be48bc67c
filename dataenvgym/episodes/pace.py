"""The pace of a phase and of an episode, and their time left at that pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from dataenvgym.episodes.summary import IterationSummary
from dataenvgym.progress import ProgressMessage

_TRUSTED_AFTER = 2.0
"""The least seconds of counting before a pace is reliable."""


class Pace:
    """The pace of one count; a count of another thing starts over.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Start over."""
        self._total: int | None = None
        self._first, self._began = 0, 0.0
        self._done, self._skipped, self._at = 0, 0, 0.0

    def hear(self, message: ProgressMessage) -> None:
        """Update from a progress message; messages without a count are ignored."""
        if message.done is None or message.total is None:
            return
        now, done = self._clock(), message.done - message.skipped
        if message.total != self._total or done < self._done:
            self._total = message.total
            self._first, self._began = done, now
        self._done, self._skipped, self._at = done, message.skipped, now

    def seconds_left(self) -> float | None:
        """Seconds until the count is complete; None if that is not known yet."""
        counted, took = self._done - self._first, self._at - self._began
        if self._total is None or not counted or took < _TRUSTED_AFTER:
            return None
        left = took / counted * (self._total - self._skipped - self._done)
        return max(0.0, left - (self._clock() - self._at))


def episode_seconds_left(
    iterations: Sequence[IterationSummary], n_iterations: int, elapsed: float
) -> float | None:
    """Seconds until the last iteration ends, at the mean of finished ones; None before the first.

    Args:
        iterations: the finished iterations. Iteration 0 is ignored, because it trains nothing.
        n_iterations: the planned number.
        elapsed: seconds of the running iteration.
    """
    seconds = [i.seconds.get("total", 0.0) for i in iterations if i.iteration]
    if not seconds:
        return None
    each = sum(seconds) / len(seconds)
    return max(0.0, each * (n_iterations - len(seconds)) - elapsed)
