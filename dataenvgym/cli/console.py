"""The terminal of all commands; silences libraries that would write over it."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from dataenvgym.events import hearing_warnings


def open_console(*, plain: bool = False, width: int | None = None) -> Console:
    """Open a console that shows texts literally: brackets in a name or a path are not markup.

    Args:
        plain: no live display and no colors, even on a terminal.
    """
    terminal = False if plain else None
    return Console(force_terminal=terminal, highlight=False, markup=False, width=width)


@contextmanager
def showing_warnings(console: Console) -> Iterator[None]:
    """Show warnings at once, each text once, in commands that run no episode."""
    from dataenvgym.runs.episodes.texts import plain

    shown: set[str] = set()

    def show(text: str) -> None:
        if text not in shown:
            shown.add(text)
            console.print(Text(f"warning: {plain(text)}", style="yellow"), soft_wrap=True)

    with hearing_warnings(show):
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
    """Turn off Hugging Face's progress bars and advice, and warnings of other libraries.

    Call it before they are imported. Settings of the user are kept.
    """
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if "PYTHONWARNINGS" not in os.environ:
        warnings.simplefilter("ignore")
    # without any handler, logging would write warnings and tracebacks to the terminal
    logging.getLogger().addHandler(_NOWHERE)
