"""Counts the documents that a run stored, so that a loss in the store is visible.

A file in the run directory has the id of each stored document, one per line. A store that has
fewer of them lost some, such as a Redis server that was started again without its data.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from dataenvgym.errors import StoreError
from dataenvgym.records.store.files import drop_unfinished_line
from dataenvgym.records.store.interface import Kind, M, Store


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
