"""A store in a folder, for people to read and copy; several processes may share it.

    documents/<kind>/<id>.json    appears whole or not at all
    events/<stream>.jsonl         one line per event; a line cut short by a kill is dropped

A look-up reads every document of the kind, which is fine for hundreds of them; Redis has an index.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel

from dataenvgym import exact_json
from dataenvgym.errors import BrokenFileError
from dataenvgym.records.store.interface import (
    Kind,
    StoredEvent,
    event_to_json,
    file_name,
    from_json,
    to_json,
    tokens,
    wanted_tokens,
)
from dataenvgym.storage import write_bytes

M = TypeVar("M", bound=BaseModel)


class FileStore:
    """Stores documents in a folder, which is made with the first one.

    Args:
        folder: of the store. A full disk, or a folder without write permission, raises an
            `OSError` that names it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    def put(self, kind: Kind[M], id: str, document: M) -> None:
        write_bytes(self._path(kind, id), to_json(kind, document) + b"\n")

    def get(self, kind: Kind[M], id: str) -> M | None:
        path = self._path(kind, id)
        try:
            return from_json(kind, path.read_bytes(), str(path))
        except FileNotFoundError:
            return None

    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        return [self.get(kind, id) for id in ids]

    def delete(self, kind: Kind[M], id: str) -> bool:
        try:
            self._path(kind, id).unlink()
        except FileNotFoundError:
            return False
        return True

    def ids(self, kind: Kind[M]) -> list[str]:
        return sorted(unquote(path.stem) for path in self._paths(kind))

    def find(self, kind: Kind[M], **fields: object) -> list[str]:
        wanted = set(wanted_tokens(kind, fields))
        found = (path for path in self._paths(kind) if wanted <= _tokens_in(path))
        return sorted(unquote(path.stem) for path in found)

    def add_event(self, stream: str, event: Mapping[str, Any]) -> str:
        line = event_to_json(event) + b"\n"
        path = self._stream(stream)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed: one process after the other
            drop_unfinished_line(file)
            file.write(line)
            file.flush()
            return str(file.seek(0, os.SEEK_END))

    def events(self, stream: str, after: str | None = None) -> list[StoredEvent]:
        path, position = self._stream(stream), int(after or 0)
        found = []
        try:
            with path.open("rb") as file:
                file.seek(position)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # it is being written, or its writer was killed
                    position += len(line)
                    found.append(StoredEvent(str(position), dict(exact_json.loads(line))))
        except FileNotFoundError:
            pass
        except exact_json.JSONDecodeError as error:
            raise BrokenFileError(f"{path} is damaged: a line is not JSON ({error})") from error
        return found

    def _paths(self, kind: Kind[M]) -> Iterator[Path]:
        paths = (self.folder / "documents" / kind.name).glob("*.json")
        return (path for path in paths if not path.name.startswith("."))

    def _path(self, kind: Kind[M], id: str) -> Path:
        return self.folder / "documents" / kind.name / f"{file_name(id)}.json"

    def _stream(self, name: str) -> Path:
        return self.folder / "events" / f"{file_name(name)}.jsonl"


def drop_unfinished_line(file: BinaryIO) -> None:
    """Remove the incomplete line that a killed process left at the end."""
    if file.seek(0, os.SEEK_END):
        with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            end = content.rfind(b"\n") + 1
        file.truncate(end)


def _tokens_in(path: Path) -> set[str]:
    try:
        return tokens(path.read_bytes())
    except FileNotFoundError:  # deleted in the meantime
        return set()
    except (exact_json.JSONDecodeError, AttributeError) as error:
        raise BrokenFileError(f"{path} is damaged: it is not a JSON object ({error})") from error
