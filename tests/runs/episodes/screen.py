"""A terminal and a clock for tests of displays."""

import io
import re

from rich.console import Console

from dataenvgym.events import ProgressMessage
from dataenvgym.runs.episodes.display import Display


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def terminal(**options) -> Console:
    return Console(
        file=io.StringIO(), force_terminal=True, legacy_windows=False,
        **{"width": 80, "height": 30, "_environ": {"TERM": "xterm"}, **options},
    )  # fmt: skip


def unescaped(written: str) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).replace("\r", "\n").splitlines()
    return [line.rstrip() for line in lines if line.strip()]


def drawn(display: Display) -> list[str]:
    """The rows of the display."""
    console = terminal(width=display.console.width)
    console.print(display.bars.get_renderable())
    return unescaped(console.file.getvalue())


def count(done: int, total: int, skipped: int = 0, text: str = "") -> ProgressMessage:
    message = ProgressMessage(text or f"{done} of {total}")
    message.done, message.total, message.skipped = done, total, skipped
    return message
