"""The terminal as all commands write to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataenvgym.run_warnings import listening

if TYPE_CHECKING:
    from rich.console import Console


def open_console(*, plain: bool = False, width: int | None = None) -> Console:
    """A console that shows texts as they are: brackets in a name or a path are no markup.

    Args:
        plain: no live display and no colours, wherever the output goes.
    """
    from rich.console import Console

    terminal = False if plain else None
    return Console(force_terminal=terminal, highlight=False, markup=False, width=width)


@contextmanager
def showing_warnings(console: Console) -> Iterator[None]:
    """Show warnings at once, each text once: for commands that run no episode, which would."""
    from rich.text import Text

    from dataenvgym.episodes.texts import plain

    shown: set[str] = set()

    def show(text: str) -> None:
        if text not in shown:
            shown.add(text)
            console.print(Text(f"warning: {plain(text)}", style="yellow"), soft_wrap=True)

    with listening(show):
        yield
