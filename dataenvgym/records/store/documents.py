"""Stores, and their terms: kinds, documents, events; the store in files.

Documents and events have one form in all stores, and keys to find them by their fields. A `Ledger`
makes a loss in a store visible.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar
from urllib.parse import unquote

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from dataenvgym import exact_json
from dataenvgym.errors import (
    BrokenFileError,
    ConfigurationError,
    StoreError,
    first_fault,
    shorten,
)
from dataenvgym.events import redact_bytes
from dataenvgym.storage import write_bytes

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Kind(Generic[M]):
    """A kind of document.

    Args:
        name: lower-case letters, digits and underscores, such as "characters".
        model: of its documents. Each of its fields can be looked up.
    """

    name: str
    model: type[M]


class StoredEvent(NamedTuple):
    """An event, and its position in its stream, for `events(after=...)`."""

    position: str
    event: dict[str, Any]


class Store(ABC):
    """Stores documents by kind and id, and streams of events; for several threads and processes.

    A document appears whole or not at all. If several writers write one id, the last one replaces
    all fields. Secrets of the run (see `secrets`) are redacted before anything is stored.

    Ids and names of streams: 1 to 200 bytes of UTF-8 without control characters.

    Every method raises:
        ConfigurationError: for an invalid id, or an unknown field.
        StoreError: if a server that stores the documents cannot be reached, or refuses. Earlier
            documents are intact, and the same object works again when the server does.
        BrokenFileError: if a document is damaged, or does not fit its model.
        OSError: if files cannot be read or written.
    """

    @abstractmethod
    def put(self, kind: Kind[M], id: str, document: M) -> None:
        """Store a document; it replaces the one with the same id."""

    def get(self, kind: Kind[M], id: str) -> M | None:
        """The document, or None."""
        return self.get_many(kind, [id])[0]

    @abstractmethod
    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        """The document under each id, or None, in the order of the ids."""

    @abstractmethod
    def delete(self, kind: Kind[M], id: str) -> bool:
        """Remove a document; False if there was none."""

    def ids(self, kind: Kind[M]) -> list[str]:
        """All ids, sorted."""
        return self.find(kind)

    @abstractmethod
    def find(self, kind: Kind[M], **fields: object) -> list[str]:
        """The sorted ids of the documents that have all these values; of a list, an element.

        Args:
            fields: name of a field of the model -> its value; any JSON value except a list.
        """

    @abstractmethod
    def add_event(self, stream: str, event: Mapping[str, Any]) -> str:
        """Append an event (a JSON object) to a stream; return its position.

        If the connection breaks while a server answers, this may raise although the event is in the
        stream, or the event may be stored twice.
        """

    @abstractmethod
    def events(self, stream: str, after: str | None = None) -> list[StoredEvent]:
        """The events of a stream, oldest first; only those after the position `after`."""


_LONGEST = 200  # with the additions of `storage`, a file name has at most 255 bytes
_NOT_IN_FILE_NAMES = re.compile(r"[/\\:%]|^\.")


def check_name(name: str) -> str:
    """Check the id of a document or the name of a stream, and return it.

    Raises:
        ConfigurationError: if it is not a valid name.
    """
    if not name or not name.isprintable() or len(_escaped(name).encode()) > _LONGEST:
        raise ConfigurationError(
            f"the id {shorten(name)!r} cannot be kept: expected 1 to {_LONGEST} bytes ('/', '\\', "
            "':' "
            "and '%' count for three), none of them a control character"
        )
    return name


def file_name(name: str) -> str:
    """An id as a file name, which is not hidden; `urllib.parse.unquote` gives the id back.

    Raises:
        ConfigurationError: if it is not a valid name.
    """
    return _escaped(check_name(name))


def _escaped(name: str) -> str:
    return _NOT_IN_FILE_NAMES.sub(lambda found: f"%{ord(found[0]):02X}", name)


def to_json(kind: Kind[M], document: M) -> bytes:
    """The document as JSON, redacted."""
    assert isinstance(document, kind.model), f"expected a {kind.model.__name__}"
    return redact_bytes(document.model_dump_json().encode())


def from_json(kind: Kind[M], data: bytes, place: str) -> M:
    """Parse the document in `data`.

    Raises:
        BrokenFileError: if it is not a valid document, naming `place`.
    """
    try:
        return kind.model.model_validate_json(data)
    except ValidationError as error:
        raise BrokenFileError(
            f"{place} is damaged, or another version wrote it: {first_fault(error)}. Delete it, or "
            f"put a {kind.model.__name__} there"
        ) from error


def event_to_json(event: Mapping[str, Any]) -> bytes:
    """The event as one line of JSON, redacted."""
    return redact_bytes(exact_json.dumps(dict(event)))


def tokens(data: bytes) -> set[str]:
    """The keys of a document: a token for each field, and one for each element of a list."""
    fields: dict[str, Any] = exact_json.loads(data)
    return {
        _token(name, element)
        for name, value in fields.items()
        for element in (value if isinstance(value, list) else [value])
    }


def wanted_tokens(kind: Kind[M], fields: Mapping[str, object]) -> list[str]:
    """The tokens of a document with these values.

    Raises:
        ConfigurationError: if the model lacks a field, or a value cannot be looked up.
    """
    return [_token(name, _value(kind, name, value)) for name, value in fields.items()]


def _value(kind: Kind[M], name: str, value: object) -> Any:
    if name not in (known := kind.model.model_fields):
        raise ConfigurationError(
            f"{kind.model.__name__} has no field {name!r}, but {', '.join(known)}"
        )
    if isinstance(plain := to_jsonable_python(value), list):
        raise ConfigurationError(f"{name} is looked up by {value!r}: name one element of the list")
    return plain


def _token(field: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 30 finds 30.0
    canonical = exact_json.dumps(value, option=exact_json.SORT_KEYS)
    return f"{field}:{hashlib.sha256(canonical).hexdigest()[:32]}"


class FileStore(Store):
    """A store in a folder, for people to read and copy; several processes may share it.

        documents/<kind>/<id>.json    appears whole or not at all
        events/<stream>.jsonl         one line per event; a line cut short by a kill is dropped

    A look-up reads every document of the kind, which is fine for hundreds; Redis has an index.

    Args:
        folder: of the store, made with the first document. A full disk, or a folder without write
            permission, raises an `OSError` that names it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    def put(self, kind: Kind[M], id: str, document: M) -> None:
        write_bytes(self._path(kind, id), to_json(kind, document) + b"\n")

    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        found: list[M | None] = []
        for path in (self._path(kind, id) for id in ids):
            try:
                found.append(from_json(kind, path.read_bytes(), str(path)))
            except FileNotFoundError:
                found.append(None)
        return found

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


class Ledger:
    """The documents of one kind that a run stored, so that a loss in the store is visible.

    A file in the run directory has the id of each, one per line. A store that has fewer of them
    lost some, such as a Redis server that was started again without its data.

    Args:
        store: has the documents.
        kind: of the documents.
        place: of the store, for messages and to tell several stores of a run apart.
        lasting: False if the store deletes documents after some time; then none is missed.

    Attributes:
        directory: the run directory; None keeps no ledger.
    """

    def __init__(self, store: Store, kind: Kind[M], place: str, *, lasting: bool = True) -> None:
        self.directory: Path | None = None
        self._store, self._kind, self._place, self._lasting = store, kind, place, lasting
        self._lock = threading.Lock()

    def add(self, id: str) -> None:
        """Note a document that was stored."""
        if self.directory is not None:
            with self._lock, self._path.open("a+b") as file:
                drop_unfinished_line(file)
                file.write(f"{id}\n".encode())

    def check(self) -> None:
        """Check that the store has everything that the run ever stored there.

        Raises:
            StoreError: if not.
        """
        if self.directory is None or not self._lasting or not self._path.exists():
            return
        lines = self._path.read_text(encoding="utf-8").split("\n")
        ids = [*dict.fromkeys(lines[:-1])]  # the last one is empty, or was cut short by a kill
        n_found = sum(one is not None for one in self._store.get_many(self._kind, ids))
        if n_found < len(ids):
            raise StoreError(
                f"the store at {self._place} has only {n_found} of {len(ids)} {self._kind.name} "
                f"that {self.directory.name!r} stored there: it lost the others. --fresh plays "
                f"them again; to continue with what is left, remove {self._path}"
            )

    @property
    def _path(self) -> Path:
        assert self.directory is not None
        named = hashlib.sha256(self._place.encode()).hexdigest()[:8]
        return self.directory / f"stored-{named}.txt"
