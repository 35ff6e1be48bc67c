"""A folder's files on their way from one place to another.

    Parcel.of(folder)        all files
    FolderWatch(folder)      ... and later, again and again, what has changed since

Training files name the folder that they are in, by its absolute path; where a parcel is written,
that path becomes the new place's. The files that say that something is whole are written last, so
that a reader (or a resumed run) sees what it would see if the work had been done there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from dataenvgym.storage import write_bytes

# What they are the last word of is whole: an adapter, an evaluation, an iteration, a run.
_LAST_WORDS = ("adapter_config.json", "completed.jsonl", "iteration.json", "summary.json")
_NAMING_PATHS = (".yaml", ".json")


@dataclass(frozen=True)
class Parcel:
    """Files by their path in the folder, in the order in which they are to be written.

    Attributes:
        root: the path that stands in the files for the place that they come from.
        removed: files that are no longer there.
    """

    root: str
    files: dict[str, bytes]
    removed: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path, *, root: Path | None = None) -> Parcel:
        """All files of `folder`, hidden (unfinished) ones excepted; none if it does not exist."""
        return FolderWatch.unseen(folder, root=root).changes()

    def write(self, folder: Path, *, root: str | None = None) -> None:
        """Bring `folder` up to date, file by file, each one atomically.

        Args:
            root: what stands in the files for the place where they go; `folder` if None.
        """
        new = str(folder.resolve()) if root is None else root
        for name in self.removed:
            path = folder / name
            path.unlink(missing_ok=True)
            for parent in path.relative_to(folder).parents[:-1]:
                if (folder / parent).is_dir() and not any((folder / parent).iterdir()):
                    (folder / parent).rmdir()
        for name, data in self.files.items():
            write_bytes(folder / name, _moved(name, data, self.root, new))


class FolderWatch:
    """Knows which files of `folder` have been told of; all that are there now are taken as told.

    Args:
        root: stands in the files for the place where they are; `folder` if None.
    """

    def __init__(self, folder: Path, *, root: Path | None = None) -> None:
        self.folder = folder
        self.root = str((folder if root is None else root).resolve())
        self._told = self._seen()

    @classmethod
    def unseen(cls, folder: Path, *, root: Path | None = None) -> FolderWatch:
        """A watch to which everything is new."""
        watch = cls(folder, root=root)
        watch._told = {}
        return watch

    def changes(self) -> Parcel:
        """What is new, changed or gone since the last call."""
        seen = self._seen()
        new = [name for name, stamp in seen.items() if self._told.get(name) != stamp]
        new.sort(key=lambda name: (_rank(name), seen[name]))
        gone = sorted(self._told.keys() - seen.keys(), key=_rank, reverse=True)
        self._told = seen
        files = {name: (self.folder / name).read_bytes() for name in new}
        return Parcel(self.root, files, tuple(gone))

    def _seen(self) -> dict[str, tuple[int, int, int]]:
        """When each file was last changed, its size and its identity."""
        seen = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                status = path.stat()
                seen[name.as_posix()] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return seen


def _rank(name: str) -> int:
    last = name.rpartition("/")[2]
    return _LAST_WORDS.index(last) + 1 if last in _LAST_WORDS else 0


def _moved(name: str, data: bytes, old: str, new: str) -> bytes:
    """The file with paths below `old` told as paths below `new`."""
    if old == new or not name.endswith(_NAMING_PATHS):
        return data
    place = re.escape(old.encode()) + rb"(?=[/\"'\s]|$)"
    return re.sub(place, lambda _: new.encode(), data)
