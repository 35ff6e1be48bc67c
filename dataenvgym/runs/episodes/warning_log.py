"""Keeps the warnings of a run in `warnings.jsonl` in the run directory.

`warn_run` may be called anywhere and from any thread. The runner listens, and its `WarningLog`
saves each text with its iteration. So a run that was killed and resumed ends with the same warnings
as an uninterrupted one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError

from dataenvgym.environments.episode_directory import WARNINGS_FILE
from dataenvgym.errors import BrokenFileError
from dataenvgym.records import Model
from dataenvgym.storage import read_jsonl, write_jsonl


class RunWarning(Model):
    """One warning; `iteration` is None if it concerns the whole run."""

    text: str
    iteration: int | None = None


class WarningLog:
    """Keeps the warnings of a run, each text once per iteration.

    Nothing is written before `open`, so a run directory that refuses the episode stays unchanged. A
    text about the whole run is not repeated by later iterations. A text from the setup of the run
    or about the base student is kept only once for both, because a resumed run warns again during
    its setup.

    Args:
        directory: the run directory.
        show: is called with each new warning.
    """

    def __init__(self, directory: Path, show: Callable[[RunWarning], None]) -> None:
        self.iteration: int | None = None
        self._path = directory / WARNINGS_FILE
        self._show = show
        self._kept: list[RunWarning] = []
        self._is_open = False
        self._lock = threading.RLock()

    @property
    def kept(self) -> tuple[RunWarning, ...]:
        """All warnings so far, in order."""
        return tuple(self._kept)

    def go_on(self, known: Sequence[RunWarning]) -> None:
        """Load the warnings of the resumed run.

        Args:
            known: the warnings in its summary; they replace lost lines of the file.

        Raises:
            BrokenFileError: if the file of warnings is damaged.
        """
        kept = read_warnings(self._path.parent)
        lost = [warning for warning in known if warning not in kept]
        # the summary may lack the file's last warnings, but never has another order
        self._kept = [*known, *(w for w in kept if w not in known)] if lost else list(kept)

    def open(self) -> None:
        """Write the warnings so far; from now on write each warning at once."""
        with self._lock:
            if not self._is_open:
                self._is_open = True
                self._write()

    def hear(self, text: str) -> None:
        """Save and show the warning, unless it is known."""
        warning = RunWarning(text=text, iteration=self.iteration)
        with self._lock:
            for known in self._kept:
                at_start = not self.iteration and not known.iteration
                is_known_here = at_start or known.iteration in (None, self.iteration)
                if text == known.text and is_known_here:
                    return
            self._kept.append(warning)
            self._write()
            self._show(warning)

    def _write(self) -> None:
        if self._is_open and self._kept:
            write_jsonl(self._path, (w.model_dump(mode="json") for w in self._kept))


def read_warnings(directory: Path) -> tuple[RunWarning, ...]:
    """The warnings in a run directory; BrokenFileError names a line that is not a warning."""
    path = directory / WARNINGS_FILE
    if not path.exists():
        return ()
    warnings = []
    for number, row in enumerate(read_jsonl(path), 1):
        try:
            warnings.append(RunWarning.model_validate(row))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise BrokenFileError(
                f"{path}, line {number}, is damaged: it is not a warning ({problem}); remove the "
                "file, and the run takes its warnings from summary.json"
            ) from error
    return tuple(warnings)


def warning_lines(warnings: Sequence[RunWarning]) -> list[str]:
    """One line for each text, with the numbers of its iterations first."""
    iterations: dict[str, list[int]] = {}
    for warning in warnings:
        found = iterations.setdefault(warning.text, [])
        if warning.iteration is not None:
            found.append(warning.iteration)
    lines = []
    for text, found in iterations.items():
        noun = "iteration" if len(found) == 1 else "iterations"
        lines.append(f"{noun} {', '.join(map(str, found))}: {text}" if found else text)
    return lines
