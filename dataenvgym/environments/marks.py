"""How damage to a run's files is found: the size and the hash that each one was written with.

While an iteration is in progress, its marks are in `files.json` in its folder; the finished
iteration has them in `iteration.json`. The run directory's own `files.json` has those of the
agent's states and of the answered test problems. The mark of a file goes before the file is
replaced and comes back afterwards, so that a kill may leave a file without a mark, but never with
a wrong one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter

from dataenvgym.errors import RunDirectoryError
from dataenvgym.records import Model
from dataenvgym.storage import hash_file, is_temporary, read_json, write_json
from dataenvgym.workspace import naming_damage

MARKS_FILE = "files.json"
LARGE = 2**28
"""Bytes from which a file is known by its size until it is needed: weights of whole students."""

_UNMARKED = re.compile(r"iteration\.json|files\.json|warnings.*")
# Training files name their run directory, which may be moved, or be on another machine meanwhile.
_NAMING_PATHS = (".yaml", ".json")
_TEXTS = re.compile(rb"([\"'\n])")
_ITERATIONS = b"/iterations/"


class FileMark(Model):
    """A file's size in bytes and its SHA-256 (hex).

    In YAML and JSON files, paths into the folder of the iterations count without what is before it.
    """

    bytes: int
    sha256: str


Marks = Mapping[str, FileMark]
"""By the file's path in the folder, with "/" on all systems."""

_MARKS: TypeAdapter[dict[str, FileMark]] = TypeAdapter(dict[str, FileMark])


class MarkedFolder:
    """A folder whose files are marked as they are written.

    Args:
        directory: the folder, which need not be there yet.
        way_out: what to do about a damaged file, as the end of a message.
    """

    def __init__(self, directory: Path, way_out: str) -> None:
        self.directory = directory
        self.way_out = way_out

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """The path of a file that the block writes; it is marked afterwards."""
        self.forget([name])
        yield self.directory / name
        self._write({**self.read(), name: mark_of(self.directory / name)})

    def forget(self, names: Iterable[str]) -> None:
        """Drop the marks of these files, which are about to be replaced."""
        marks = self.read()
        if gone := marks.keys() & set(names):
            self._write({name: mark for name, mark in marks.items() if name not in gone})

    def complete(self) -> dict[str, FileMark]:
        """The marks of all files; those without one are marked now."""
        marks = self.read()
        files = _files(self.directory)
        return {name: marks.get(name) or mark_of(path) for name, path in files}

    def mark_all(self) -> None:
        """Mark the files that have no mark yet."""
        if (complete := self.complete()) != self.read():
            self._write(complete)

    def remove(self) -> None:
        """Remove the marks, once they are kept elsewhere."""
        (self.directory / MARKS_FILE).unlink(missing_ok=True)

    def mark(self, name: str) -> None:
        """Mark the file if a kill has left it without."""
        if name not in (marks := self.read()):
            self._write({**marks, name: mark_of(self.directory / name)})

    def check(self, *, below: str = "", missing: bool = True) -> None:
        """Compare the files with their marks.

        Args:
            below: only files whose path begins with this.
            missing: False where a missing file is written anew.

        Raises:
            RunDirectoryError: naming the first file that is not as it was written.
        """
        marks = self.read()
        if not missing:
            marks = {n: mark for n, mark in marks.items() if (self.directory / n).exists()}
        refuse_damage(self.directory, marks, self.way_out, below=below)

    def read(self) -> dict[str, FileMark]:
        """The marks; none where nothing is marked yet.

        Raises:
            RunDirectoryError: if their file is damaged.
        """
        path = self.directory / MARKS_FILE
        if not path.exists():
            return {}
        with naming_damage(path, self.way_out):
            return _MARKS.validate_python(read_json(path))

    def _write(self, marks: Marks) -> None:
        # by name: a resumed run marks some files in another order than an undisturbed one
        rows = {name: marks[name].model_dump() for name in sorted(marks)}
        write_json(self.directory / MARKS_FILE, rows)


def mark_of(path: Path) -> FileMark:
    """The mark of a file as it is now."""
    if path.suffix in _NAMING_PATHS and path.stat().st_size < LARGE:
        data = _without_place(path.read_bytes())
        return FileMark(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    return FileMark(bytes=path.stat().st_size, sha256=hash_file(path))


def refuse_damage(
    directory: Path, marks: Marks, way_out: str, *, below: str = "", large: bool = False
) -> None:
    """Compare the files of a folder with their marks.

    A folder in it that is gone as a whole was removed on purpose (adapters are large), and is
    missed by code that needs it.

    Args:
        way_out: what to do about a damaged file.
        below: only files whose path begins with this.
        large: read large files too, whose size is enough otherwise.

    Raises:
        RunDirectoryError: naming the first file that is gone, or not as it was written.
    """
    for name, mark in marks.items():
        path = directory / name
        if not name.startswith(below) or not path.parent.exists():
            continue
        if not path.exists():
            raise RunDirectoryError(f"{path} is missing; {way_out}")
        if not large and mark.bytes >= LARGE and path.stat().st_size == mark.bytes:
            continue
        if (found := mark_of(path)) != mark:
            raise RunDirectoryError(
                f"{path} is damaged: it has {found.bytes} bytes, and was written with "
                f"{mark.bytes}{'' if found.bytes != mark.bytes else ' other ones'}; {way_out}"
            )


def _without_place(data: bytes) -> bytes:
    """YAML or JSON without what is before `/iterations/` in its texts."""
    if _ITERATIONS not in data:
        return data
    return b"".join(text[max(text.rfind(_ITERATIONS), 0) :] for text in _TEXTS.split(data))


def _files(directory: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory)
        hidden = any(is_temporary(directory / part) for part in (name, *name.parents[:-1]))
        if path.is_file() and not hidden and not _UNMARKED.fullmatch(name.parts[0]):
            yield name.as_posix(), path
