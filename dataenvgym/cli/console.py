"""The terminal as all commands write to it, and libraries that would write over it."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataenvgym.run_warnings import listening

if TYPE_CHECKING:
    from rich.console import Console


def open_console(*, plain: bool = False, width: int | None = None) -> Console:
    """A console that shows texts as they are: brackets in a name or a path are not markup.

    Args:
        plain: no live display and no colors, wherever the output goes.
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


SETTINGS = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}

_NOWHERE = logging.NullHandler()


def quieten() -> None:
    """No progress bars and no advice from Hugging Face's libraries, no warnings from others.

    To be called before they are imported. Whatever a user has set stays as it is.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if "PYTHONWARNINGS" not in os.environ:
        warnings.simplefilter("ignore")
    # without any handler, logging would write warnings and tracebacks to the terminal
    logging.getLogger().addHandler(_NOWHERE)
