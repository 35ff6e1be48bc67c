"""A store in this process, which ends with it."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from dataenvgym import exact_json
from dataenvgym.records.store.interface import (
    Kind,
    StoredEvent,
    check_name,
    event_to_json,
    from_json,
    to_json,
    tokens,
    wanted_tokens,
)

M = TypeVar("M", bound=BaseModel)


class MemoryStore:
    """Stores documents as the JSON that the other stores would write."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, dict[str, tuple[bytes, set[str]]]] = defaultdict(dict)
        self._events: dict[str, list[bytes]] = defaultdict(list)

    def put(self, kind: Kind[M], id: str, document: M) -> None:
        data = to_json(kind, document)
        with self._lock:
            self._documents[kind.name][check_name(id)] = data, tokens(data)

    def get(self, kind: Kind[M], id: str) -> M | None:
        return self.get_many(kind, [id])[0]

    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        with self._lock:
            found = [self._documents[kind.name].get(check_name(id)) for id in ids]
        return [
            None if entry is None else from_json(kind, entry[0], f"{kind.name}/{id} in memory")
            for id, entry in zip(ids, found, strict=True)
        ]

    def delete(self, kind: Kind[M], id: str) -> bool:
        with self._lock:
            return self._documents[kind.name].pop(check_name(id), None) is not None

    def ids(self, kind: Kind[M]) -> list[str]:
        with self._lock:
            return sorted(self._documents[kind.name])

    def find(self, kind: Kind[M], **fields: object) -> list[str]:
        wanted = set(wanted_tokens(kind, fields))
        with self._lock:
            entries = self._documents[kind.name].items()
            return sorted(id for id, (_, has) in entries if wanted <= has)

    def add_event(self, stream: str, event: Mapping[str, Any]) -> str:
        line = event_to_json(event)
        with self._lock:
            events = self._events[check_name(stream)]
            events.append(line)
            return str(len(events))

    def events(self, stream: str, after: str | None = None) -> list[StoredEvent]:
        start = int(after or 0)
        with self._lock:
            lines = self._events[check_name(stream)][start:]
        found = enumerate(map(exact_json.loads, lines), start + 1)
        return [StoredEvent(str(position), event) for position, event in found]
