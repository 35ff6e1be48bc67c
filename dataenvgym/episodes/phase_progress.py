"""The progress of one phase, for displays of runs, studies and evaluations."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.text import Text

from dataenvgym.episodes.callbacks import EpisodePlan
from dataenvgym.episodes.summary import IterationSummary
from dataenvgym.episodes.texts import minutes, plain
from dataenvgym.episodes.warning_log import RunWarning, warning_lines
from dataenvgym.progress import ProgressMessage, listening

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


class Hearing:
    """Receives progress messages from `begin` to `end`, for a display that may be collected."""

    def __init__(self) -> None:
        self._until = ExitStack()

    def begin(self, hear: Callable[[ProgressMessage], None]) -> None:
        self.end()
        # a weak reference, so that a display without a call of `end` is collected
        reference = weakref.WeakMethod(hear)

        def show(message: ProgressMessage) -> None:
            if (there := reference()) is not None:
                there(message)

        self._until.enter_context(listening(show))

    def __del__(self) -> None:
        self.end()

    def end(self) -> None:
        self._until.close()


def title(plan: EpisodePlan) -> str:
    """The task, the agent and the seed, in one line."""
    where = f" in {plan.environment}" if plan.environment else ""
    return plain(f"{plan.task}, taught by {plan.agent}{where}, seed {plan.seed}")


def folder_line(plan: EpisodePlan) -> str:
    """The line with the run directory."""
    return plain(f"run directory: {plan.directory}")


def warning_line(warning: RunWarning) -> str:
    """A warning, with its iteration."""
    return f"warning: {warning_lines([warning])[0]}"


class PhaseProgress:
    """The last messages of a phase, and its time left.

    Attributes are replaced, not changed, because another thread draws them.

    Args:
        clock: seconds.

    Attributes:
        said: the last message without a count.
        count: the last message with one.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._pace = Pace(clock)
        self.forget()

    def forget(self) -> None:
        """Reset for another phase."""
        self.said = ""
        self.count: ProgressMessage | None = None
        self._pace.forget()

    def hear(self, message: ProgressMessage) -> None:
        """Update from a progress message."""
        if message.total is None:
            self.said = plain(message)
        else:
            self._pace.hear(message)
            self.count = message

    def counted(self) -> str:
        """`48 of 95 training steps, loss 0.107, about 7 s left`; "" without a count."""
        if (count := self.count) is None:
            return ""
        return plain(f"{count}{time_left(self._pace.seconds_left())}")

    def bar(self, width: int) -> tuple[RenderableType, RenderableType, RenderableType]:
        """A bar, the share in percent, and the count in words."""
        count = self.count or ProgressMessage()
        done, total = count.done or 0, count.total or 1
        bar = ProgressBar(total=total, completed=done, width=width)
        return bar, f"{done / total:.0%}", Text(self.counted(), style="dim")


def bar_width(columns: int) -> int:
    """The width of a bar on a terminal with this number of columns."""
    return min(24, columns // 4)


def time_left(seconds: float | None) -> str:
    """`, about 12 min left`; "" if unknown."""
    return "" if seconds is None else f", about {minutes(seconds)} left"
