"""A run's ledger of the documents that it stored: nothing in the store is lost or replaced unseen.

The ledger is a file in the run directory: the run's key, then the id of each stored document, one
per line. The store has the key under the run's name. So the run notices that a run of the same name
in another folder uses the store, and that the store lost documents, such as a Redis server that
was started again without its data.
"""

from __future__ import annotations

import hashlib
import socket
import threading
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel

from dataenvgym.errors import StoreError
from dataenvgym.storage import write_text
from dataenvgym.store.interface import Kind, M, Store


class StoredRun(BaseModel):
    """The run that stores documents under its name; `place` is its machine and folder."""

    key: str
    place: str


RUNS = Kind("runs", StoredRun)
_AT_ONCE = 512


class Ledger:
    """The documents of one kind that a run stored.

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
        self._ids: set[str] | None = None  # None until `begin`

    def begin(self) -> None:
        """Claim the run's name in the store; called before each document, it acts once.

        Raises:
            StoreError: if another run has the name, or if documents of this run are lost.
        """
        if self.directory is None:
            return
        with self._lock:
            if self._ids is not None:
                return
            key, ids = self._read()
            here = f"{socket.gethostname()}:{self.directory.resolve()}"
            other = self._store.get(RUNS, self.directory.name)
            if other is not None and other.key != key and (key or other.place != here):
                raise self._taken(other)
            self._check(ids)
            key = key or uuid4().hex  # a new run, or one that was started over
            write_text(self._path, "".join(f"{line}\n" for line in (key, *ids)))
            self._store.put(RUNS, self.directory.name, StoredRun(key=key, place=here))
            self._ids = {*ids}

    def add(self, id: str) -> None:
        """Note a document that was stored."""
        if self.directory is None:
            return
        with self._lock:
            assert self._ids is not None
            if id not in self._ids:
                self._ids.add(id)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(f"{id}\n")

    def check(self) -> None:
        """Check that the store has everything that the run ever stored there.

        Raises:
            StoreError: if not, or if another run took the name.
        """
        if self.directory is None or not self._path.exists():
            return
        key, ids = self._read()
        other = self._store.get(RUNS, self.directory.name)
        if other is not None and other.key != key:
            raise self._taken(other)
        self._check(ids)

    def _check(self, ids: list[str]) -> None:
        n_found = 0
        for i in range(0, len(ids), _AT_ONCE):
            found = self._store.get_many(self._kind, ids[i : i + _AT_ONCE])
            n_found += sum(document is not None for document in found)
        if self._lasting and n_found < len(ids):
            assert self.directory is not None
            raise StoreError(
                f"the store at {self._place} has only {n_found} of {len(ids)} {self._kind.name} "
                f"that {self.directory.name!r} stored there: it lost the others. --fresh plays "
                f"them again; store=null continues without a store; to continue with what is "
                f"left, remove {self._path}"
            )

    def _taken(self, other: StoredRun) -> StoreError:
        assert self.directory is not None
        return StoreError(
            f"the store at {self._place} has {self._kind.name} of another run named "
            f"{self.directory.name!r} ({other.place}), which this one would replace: choose "
            "another name (name=...) or another store (store.where=...)"
        )

    def _read(self) -> tuple[str, list[str]]:
        """The run's key, "" without one, and the ids; a line cut short by a kill is left out."""
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        key, *ids = text.rpartition("\n")[0].split("\n")
        return key, list(dict.fromkeys(ids))

    @property
    def _path(self) -> Path:
        assert self.directory is not None
        named = hashlib.sha256(self._place.encode()).hexdigest()[:8]
        return self.directory / f"stored-{named}.txt"
