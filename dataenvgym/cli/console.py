"""The terminal of all commands; silences libraries that would write over it."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dataenvgym.events import hearing_warnings

if TYPE_CHECKING:
    from dataenvgym.runs.documents import Document, Style

WIDTH = 100
"""The least columns if the output is not a terminal."""


class Terminal(Console):
    """A console that shows texts literally: brackets in a name or a path are not markup.

    Args:
        plain: no live display and no colors, even on a terminal.
    """

    def __init__(self, *, plain: bool = False) -> None:
        super().__init__(force_terminal=False if plain else None, highlight=False, markup=False)
        if not self.is_terminal:
            self.width = max(self.width, WIDTH)

    def say(self, text: str, style: Style = "text") -> None:
        """Show a line; it may quote a model."""
        from dataenvgym.runs.documents import Line, show

        show([Line(text, style)], self)

    @contextmanager
    def working(self, what: str = "") -> Iterator[None]:
        """In the block, show warnings at once, each text once, and the progress of `what`.

        For commands that run no episode, which has a display of its own.
        """
        from dataenvgym.runs.episodes.display import showing_progress

        shown: set[str] = set()

        def show(text: str) -> None:
            if text not in shown:
                shown.add(text)
                self.say(text, "warning")

        with hearing_warnings(show), showing_progress(self, what) if what else nullcontext():
            yield


def present(make: Callable[[], Document], *, as_json: bool) -> None:
    """Show the document of a command; or write it to stdout as JSON, and all else to stderr.

    If the command fails, what it made before is shown.
    """
    from dataenvgym.runs import documents

    if not as_json:
        documents.show(make(), Terminal())
        return
    parts: list[Any] = []
    try:
        with redirect_stdout(sys.stderr):
            parts += make()
    finally:
        print(documents.as_json(parts))


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
