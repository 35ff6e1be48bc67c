"""The folder of an episode: a run directory, or a temporary one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from dataenvgym.environments.identity import refuse_another, write_identity
from dataenvgym.environments.iterations import IterationFiles, checked_iterations
from dataenvgym.environments.options import ResetOptions
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records.checksums import MARKS_FILE
from dataenvgym.workspace import check_format

_SCRATCH = ".trial-"
WARNINGS_FILE = "warnings.jsonl"
"""The runner's warnings, one per line."""


class EpisodeDirectory:
    """The folder of `iterations/`; None makes a temporary one at first use (see `close`)."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._forget_temporary: Callable[[], object] | None = None
        self._is_mine = path is None

    @property
    def path(self) -> Path:
        """The folder."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix="dataenvgym-"))
            # for when close() is never called
            remove = partial(shutil.rmtree, self._path, ignore_errors=True)
            self._forget_temporary = weakref.finalize(self, remove)
        return self._path

    @property
    def iterations(self) -> Path:
        """The folder of the iterations; it exists once there is an episode."""
        return self.path / "iterations"

    @property
    def is_temporary(self) -> bool:
        """True if the folder is removed when the environment is closed."""
        return self._path is None or self._forget_temporary is not None

    def move_to(self, path: str | Path) -> None:
        """Keep the next episode in this folder."""
        if self._path is None or self._path.absolute() != Path(path).absolute():
            self.close()
            self._path, self._is_mine = Path(path), False

    def claim(
        self, asked: ResetOptions, identity: Callable[[], dict[str, Any]]
    ) -> list[IterationFiles]:
        """Begin an episode here, or continue the existing one; return its finished iterations.

        `identity` computes the contents of `environment.json`; errors: `TeachingEnvironment.reset`.
        """
        if asked.resume:
            check_format(self.path)
        finished = checked_iterations(self.iterations) if asked.resume else []
        if not asked.resume and not asked.fresh and not self._is_mine and self.iterations.exists():
            raise RunDirectoryError(
                f"{self.iterations} already holds an episode: reset with "
                "options={'resume': True} to continue it, or {'fresh': True} to replace it"
            )
        now = identity()
        begun = IterationFiles(self.iterations, 0)
        if finished or (asked.resume and begun.read_completed() is not None):
            refuse_another(self.path, now)
        else:
            if self.iterations.exists():  # first and at once: without them nothing can be resumed
                gone = self.iterations.with_name(".iterations.gone")
                shutil.rmtree(gone, ignore_errors=True)
                self.iterations.rename(gone)
                shutil.rmtree(gone)
            for name in ("agent", "test"):
                shutil.rmtree(self.path / name, ignore_errors=True)
            for name in ("summary.json", MARKS_FILE, WARNINGS_FILE):
                (self.path / name).unlink(missing_ok=True)
            write_identity(self.path, now)
        self._is_mine = True
        for folder in self.path.glob(f"{_SCRATCH}*"):  # a kill left them
            shutil.rmtree(folder, ignore_errors=True)
        return finished

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a folder inside that is removed after the block."""
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Remove the folder if it is temporary."""
        if self._forget_temporary is not None:
            self._forget_temporary()
            self._forget_temporary = self._path = None
