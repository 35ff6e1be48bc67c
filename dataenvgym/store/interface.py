"""The protocol of stores, and its terms: kinds, documents, events."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError

M = TypeVar("M", bound=BaseModel)

_KIND = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class Kind(Generic[M]):
    """A kind of document.

    Args:
        name: lower-case letters, digits and underscores, such as "characters".
        model: of its documents. Each of its fields can be looked up.

    Raises:
        ConfigurationError: for another name.
    """

    name: str
    model: type[M]

    def __post_init__(self) -> None:
        if not _KIND.fullmatch(self.name):
            raise ConfigurationError(
                f"a kind is named {self.name!r}, expected lower-case letters, digits and "
                "underscores (40 at most), such as 'characters'"
            )


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
