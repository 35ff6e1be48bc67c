"""The protocol of stores, and its terms: kinds, documents, events.

Documents and events have one form in all stores, and keys to find them by their fields.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from dataenvgym import exact_json
from dataenvgym.errors import (
    BrokenFileError,
    ConfigurationError,
    did_you_mean,
    first_fault,
    shorten,
)
from dataenvgym.events import redact_bytes

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


class Store(Protocol):
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

    def put(self, kind: Kind[M], id: str, document: M) -> None:
        """Store a document; it replaces the one with the same id."""
        ...

    def get(self, kind: Kind[M], id: str) -> M | None:
        """The document, or None."""
        ...

    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        """The document under each id, or None, in the order of the ids."""
        ...

    def delete(self, kind: Kind[M], id: str) -> bool:
        """Remove a document; False if there was none."""
        ...

    def ids(self, kind: Kind[M]) -> list[str]:
        """All ids, sorted."""
        ...

    def find(self, kind: Kind[M], **fields: object) -> list[str]:
        """The sorted ids of the documents that have all these values; of a list, an element.

        Args:
            fields: name of a field of the model -> its value; any JSON value except a list.
        """
        ...

    def add_event(self, stream: str, event: Mapping[str, Any]) -> str:
        """Append an event (a JSON object) to a stream; return its position.

        If the connection breaks while a server answers, this may raise although the event is in the
        stream, or the event may be stored twice.
        """
        ...

    def events(self, stream: str, after: str | None = None) -> list[StoredEvent]:
        """The events of a stream, oldest first; only those after the position `after`."""
        ...


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
    """The document as JSON, redacted; ConfigurationError if it is not of the kind's model."""
    if not isinstance(document, kind.model):
        raise ConfigurationError(
            f"a document of kind {kind.name!r} is a {type(document).__name__}, expected a "
            f"{kind.model.__name__}"
        )
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
    """The event as one line of JSON, redacted; ConfigurationError if it is not a JSON object."""
    try:
        return redact_bytes(exact_json.dumps(dict(event)))
    except TypeError as error:
        raise ConfigurationError(f"an event is not a JSON object: {error}") from None


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
            f"{kind.model.__name__} has no field {name!r}.{did_you_mean(name, known)} It has: "
            f"{', '.join(known)}"
        )
    try:
        plain = to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise ConfigurationError(f"{name} cannot be looked up: {error}") from None
    if isinstance(plain, list):
        raise ConfigurationError(f"{name} is looked up by {value!r}: name one element of the list")
    return plain


def _token(field: str, value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 30 finds 30.0
    canonical = exact_json.dumps(value, option=exact_json.SORT_KEYS)
    return f"{field}:{hashlib.sha256(canonical).hexdigest()[:32]}"
