"""The progress of one phase, for displays of runs, studies and evaluations."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.text import Text

from dataenvgym.episodes.pace import Pace
from dataenvgym.episodes.texts import minutes, plain
from dataenvgym.progress import ProgressMessage


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
