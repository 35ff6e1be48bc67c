"""Checksums of files (marks): size and hash at writing, which reveal later damage.

The marks of a folder are in its `files.json`; `phase` computes one of its files, or reads it. A
mark is removed before its file is replaced and written again afterwards, so a kill may leave a file
without a mark, but never with a wrong one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model
from dataenvgym.storage import (
    hash_file,
    is_temporary,
    read_bytes,
    read_model,
    read_models,
    write_json,
    write_jsonl,
)

T = TypeVar("T")

MARKS_FILE = "files.json"
AGAIN = "remove it, and the same command makes it again"
"""What to do about a damaged file, for messages."""
OF_TRAINING = ("dataset/", "training.yaml", "trainer_log.jsonl", "adapter/")
"""The beginnings of the names of a training's files, in its folder."""
LARGE = 2**28
"""Size in bytes from which only the size is checked until the file is used (whole students)."""

_UNMARKED = re.compile(r"iteration\.json|files\.json")
# Training files contain the path of their run directory, which may have been moved since.
_NAMING_PATHS = (".yaml", ".json")
_TEXTS = re.compile(rb"([\"'\n])")
_ITERATIONS = b"/iterations/"


class FileMark(Model):
    """A file's size in bytes and its SHA-256 (hex).

    In YAML and JSON files, the hash ignores the part of a path before the folder of iterations.
    """

    bytes: int
    sha256: str


Marks = Mapping[str, FileMark]
"""Marks by the file's path in the folder, with "/" on all systems."""


class MarkedFolder:
    """A folder whose files are marked as they are written.

    Args:
        directory: the folder; it need not exist yet.
        way_out: the end of an error message: what to do about a damaged file.
    """

    def __init__(self, directory: Path, way_out: str) -> None:
        self.directory = directory
        self.way_out = way_out

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """Yield the path of a file that the block writes, and mark the file afterwards."""
        self.forget([name])
        yield self.directory / name
        self._write({**self.read(), name: mark_of(self.directory / name)})

    def forget(self, names: Iterable[str]) -> None:
        """Remove the marks of these files before they are replaced."""
        marks = self.read()
        if gone := marks.keys() & set(names):
            self._write({name: mark for name, mark in marks.items() if name not in gone})

    def mark_all(self) -> None:
        """Mark the files that have no mark yet."""
        before, marks = self.read(), {}
        for path in sorted(self.directory.rglob("*")):
            name = path.relative_to(self.directory)
            parts = (self.directory / part for part in (name, *name.parents[:-1]))
            is_hidden = any(map(is_temporary, parts)) or _UNMARKED.fullmatch(name.parts[0])
            if path.is_file() and not is_hidden:
                marks[name.as_posix()] = before.get(name.as_posix()) or mark_of(path)
        if marks != before:
            self._write(marks)

    def check(self, *, below: str = "", missing: bool = True, large: bool = False) -> None:
        """Compare the files with their marks.

        A folder that is missing as a whole counts as removed on purpose (adapters are large); code
        that needs it raises its own error.

        Args:
            below: only files whose path begins with this.
            missing: False to accept missing files, which are then written again.
            large: also hash large files; otherwise only their size is checked.

        Raises:
            RunDirectoryError: names the first file that is missing or has changed.
        """
        for name, mark in self.read().items():
            path = self.directory / name
            if not name.startswith(below) or not path.parent.exists():
                continue
            if not path.exists():
                if not missing:
                    continue
                raise RunDirectoryError(f"{path} is missing; {self.way_out}")
            size = path.stat().st_size
            if not large and mark.bytes >= LARGE and size == mark.bytes:
                continue
            is_hashed = size < LARGE or size == mark.bytes
            found = mark_of(path) if is_hashed else FileMark(bytes=size, sha256="")
            if found != mark:
                raise RunDirectoryError(
                    f"{path} is damaged: it has {found.bytes} bytes, and was written with "
                    f"{mark.bytes}{'' if found.bytes != mark.bytes else ' other ones'}; "
                    f"{self.way_out}"
                )

    def load(self, name: str, kind: Any) -> Any:
        """Read what `save` wrote as this type (a list for JSON lines); None without the file.

        Raises:
            RunDirectoryError: if it is damaged.
        """
        if not (path := self.directory / name).exists():
            return None
        self.check(below=name)
        if path.suffix == ".jsonl":
            return read_models(path, get_args(kind)[0], self.way_out)
        return read_model(path, kind, self.way_out)

    def save(self, name: str, value: Any) -> None:
        """Write a value as JSON, or as JSON lines if the file is named so, and mark the file."""
        with self.replacing(name) as path:
            (write_jsonl if path.suffix == ".jsonl" else write_json)(path, value)

    def read(self) -> dict[str, FileMark]:
        """Read the marks; empty without any; RunDirectoryError if their file is damaged."""
        path = self.directory / MARKS_FILE
        if not path.exists():
            return {}
        return read_model(path, dict[str, FileMark], self.way_out)

    def _write(self, marks: Marks) -> None:
        # sorted, because a resumed run may mark files in another order
        rows = {name: marks[name].model_dump() for name in sorted(marks)}
        write_json(self.directory / MARKS_FILE, rows)


def phase(
    file: Path,
    compute: Callable[[], T],
    kind: type[T],
    way_out: str = AGAIN,
    redo: Callable[[T], bool] = lambda value: False,
) -> T:
    """The result of a step, which is computed once: later it is read from its marked file.

    Args:
        kind: of the value: a model or any type that pydantic validates; a list for JSON lines.
        way_out: what to do about a damaged file, for the message.
        redo: True for a value in the file that is to be computed again.

    Raises:
        RunDirectoryError: if the file is damaged.
    """
    value = load(file, kind, way_out)
    if value is None or redo(value):
        value = compute()
        save(file, value)
    return value


def save(file: Path, value: Any) -> None:
    """Write a value; see `MarkedFolder.save`."""
    MarkedFolder(file.parent, AGAIN).save(file.name, value)


def load(file: Path, kind: type[T], way_out: str = AGAIN) -> T | None:
    """Read what `save` wrote; None without the file. It is marked if a kill left it without.

    Raises:
        RunDirectoryError: if it is damaged.
    """
    folder = MarkedFolder(file.parent, way_out)
    value: T | None = folder.load(file.name, kind)
    if value is not None and file.name not in (marks := folder.read()):
        folder._write({**marks, file.name: mark_of(file)})
    return value


def mark_of(path: Path) -> FileMark:
    """Compute the mark of a file."""
    if path.suffix in _NAMING_PATHS and path.stat().st_size < LARGE:
        data = read_bytes(path)
        if _ITERATIONS in data:  # leave out the part of paths before it
            parts = _TEXTS.split(data)
            data = b"".join(text[max(text.rfind(_ITERATIONS), 0) :] for text in parts)
        return FileMark(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    return FileMark(bytes=path.stat().st_size, sha256=hash_file(path))
