"""The display of a command that counts one thing, such as the problems of an evaluation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from dataenvgym.episodes.phase_progress import PhaseProgress, bar_width
from dataenvgym.episodes.progress import SAID_EVERY
from dataenvgym.episodes.texts import plain
from dataenvgym.progress import ProgressMessage, listening


@contextmanager
def showing_progress(
    console: Console, what: str, *, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Show the progress until the block ends.

    A terminal gets a bar with a count and the time left; other outputs get a plain line every ten
    seconds at most.

    Args:
        what: the text until something is counted, such as "the student answers".
        clock: seconds.
    """
    progress = PhaseProgress(clock)
    if console.is_terminal and not console.is_dumb_terminal:
        with _live(console, what, progress), listening(progress.hear):
            yield
    else:
        with listening(_lines(console, progress, clock)):
            yield


def _live(console: Console, what: str, progress: PhaseProgress) -> Live:
    spinner = Spinner("dots")

    def render() -> RenderableType:
        rows = Table.grid(padding=(0, 1))
        for _ in range(3):
            rows.add_column(no_wrap=True, overflow="ellipsis")
        said = Text(progress.said, style="dim", no_wrap=True, overflow="ellipsis")
        if progress.count is None:
            rows.add_row(spinner, said or f"{what} ...")
            return rows
        rows.add_row(*progress.bar(bar_width(console.width)))
        return Group(rows, said) if said else rows

    return Live(get_renderable=render, console=console, refresh_per_second=8, transient=True)


def _lines(
    console: Console, progress: PhaseProgress, clock: Callable[[], float]
) -> Callable[[ProgressMessage], None]:
    said_at = clock()

    def hear(message: ProgressMessage) -> None:
        nonlocal said_at
        progress.hear(message)
        if clock() - said_at >= SAID_EVERY:
            said_at = clock()
            text = plain(message) if message.total is None else progress.counted()
            console.print(Text(text), soft_wrap=True)

    return hear
