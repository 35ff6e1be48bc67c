"""The duplicate index of an episode: `index.sqlite` in its directory.

It holds the fingerprints of all accepted records, each under its iteration, so that a step looks
up its own records and appends them, however many there are. It is made of the records and may be
lost: `agrees_with` says whether it holds just the finished iterations, and drops what an
interrupted one left; if it does not, it is written anew from their `records.jsonl`. That is why it
need not wait for the disk: a killed process loses nothing, and what a power failure tears is found.

Without a path it is kept in memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from dataenvgym.environments.near_duplicates import Fingerprint
from dataenvgym.errors import RunDirectoryError

INDEX_FILE = "index.sqlite"
_VERSION = 1  # changes with the tables, and with what a fingerprint is made of
_SCHEMA = (
    "CREATE TABLE options (similarity REAL NOT NULL)",
    "CREATE TABLE iterations (iteration INTEGER PRIMARY KEY, first INTEGER NOT NULL,"
    " count INTEGER NOT NULL, bands INTEGER NOT NULL)",
    "CREATE TABLE records (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, text TEXT)",
    "CREATE INDEX records_by_digest ON records (digest)",
    "CREATE TABLE bands (key INTEGER NOT NULL, record INTEGER NOT NULL,"
    " PRIMARY KEY (key, record)) WITHOUT ROWID",
    f"PRAGMA user_version = {_VERSION}",
)
_AT_ONCE = 500
"""Values in one query; SQLite takes 999 in its oldest builds."""


class RecordIndex:
    """Fingerprints by iteration. The file appears with the first of them.

    It is opened for each call, so that nothing has to be closed.

    Args:
        path: the file, or None for an index in memory.
        similarity: what the fingerprints were made for; another one has another index.
    """

    def __init__(self, path: Path | None, similarity: float) -> None:
        self.path = path
        self.similarity = similarity
        self._memory: sqlite3.Connection | None = None

    def known(self, digests: Sequence[bytes]) -> set[bytes]:
        """Which of the digests are those of accepted records."""
        found: set[bytes] = set()
        with self._reading() as connection:
            if connection is None:
                return found
            for part in _parts(digests):
                query = f"SELECT digest FROM records WHERE digest IN ({_marks(part)})"
                found.update(digest for (digest,) in connection.execute(query, part))
        return found

    def candidates(self, fingerprints: Sequence[Fingerprint]) -> dict[bytes, list[str]]:
        """By digest, the texts of accepted records that share a band with that fingerprint."""
        query = (
            "SELECT text FROM records WHERE id IN (SELECT record FROM bands WHERE key IN ({}))"
            " ORDER BY id"
        )
        found: dict[bytes, list[str]] = {}
        with self._reading() as connection:
            if connection is None:
                return found
            for one in fingerprints:
                rows = connection.execute(query.format(_marks(one.bands)), one.bands)
                if texts := [text for (text,) in rows]:
                    found[one.digest] = texts
        return found

    def count(self) -> int:
        """How many records it holds."""
        with self._reading() as connection:
            if connection is None:
                return 0
            (count,) = connection.execute("SELECT total(count) FROM iterations").fetchone()
            return int(count)

    def add(self, iteration: int | None, fingerprints: Iterable[Fingerprint]) -> None:
        """Append the records of an iteration (None: the next), all of them or none.

        What is known of that iteration, and of later ones, is replaced.
        """
        with self._writing() as connection:
            if iteration is None:
                query = "SELECT coalesce(max(iteration) + 1, 0) FROM iterations"
                (iteration,) = connection.execute(query).fetchone()
            _forget_from(connection, iteration)
            (first,) = connection.execute("SELECT coalesce(max(id) + 1, 0) FROM records").fetchone()
            end, n_bands = first, 0
            for end, one in enumerate(fingerprints, start=first + 1):
                record = (end - 1, one.digest, one.text)
                connection.execute("INSERT INTO records VALUES (?, ?, ?)", record)
                bands = [(key, end - 1) for key in dict.fromkeys(one.bands)]
                connection.executemany("INSERT INTO bands VALUES (?, ?)", bands)
                n_bands += len(bands)
            if end > first:
                row = (iteration, first, end - first, n_bands)
                connection.execute("INSERT INTO iterations VALUES (?, ?, ?, ?)", row)

    def forget_from(self, iteration: int) -> None:
        """Drop what it has of that iteration and of later ones."""
        with self._reading() as connection:
            if connection is None:
                return
            query = "SELECT count(*) FROM iterations WHERE iteration >= ?"
            (later,) = connection.execute(query, (iteration,)).fetchone()
        if later:
            with self._writing() as connection:
                _forget_from(connection, iteration)

    def agrees_with(self, counts: Mapping[int, int]) -> bool:
        """Whether it holds so many records of each of the iterations, and no others.

        Later iterations than these were interrupted: what it has of them is dropped. A file that
        cannot be read agrees with nothing.
        """
        wanted = {iteration: count for iteration, count in counts.items() if count}
        try:
            with self._reading() as connection:
                if connection is None:
                    return not wanted
                if not self._is_sound(connection):
                    return False
                rows = dict(connection.execute("SELECT iteration, count FROM iterations"))
            last = max(counts, default=-1)
            self.forget_from(last + 1)
            return {n: count for n, count in rows.items() if n <= last} == wanted
        except (sqlite3.Error, RunDirectoryError):
            return False

    def clear(self) -> None:
        """Forget everything."""
        if self.path is None:
            self._memory = None
            return
        for suffix in ("", "-journal"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _is_sound(self, connection: sqlite3.Connection) -> bool:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            return False
        (similarity,) = connection.execute("SELECT similarity FROM options").fetchone()
        if similarity != self.similarity:
            return False
        (trouble,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        promised = connection.execute("SELECT total(count), total(bands) FROM iterations")
        held = connection.execute(
            "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM bands)"
        )
        return bool(trouble == "ok" and held.fetchone() == promised.fetchone())

    # --- connections ---

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or None where there is nothing yet."""
        if self.path is None:
            yield self._memory
        elif not self.path.exists():
            yield None
        else:
            with self._explained(), closing(_connect(self.path)) as connection:
                yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A connection within a transaction, the tables made if need be."""
        if self.path is None:
            if self._memory is None:
                self._memory = _connect(":memory:")
            with self._transaction(self._memory):
                yield self._memory
        else:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                self._explained(),
                closing(_connect(self.path)) as connection,
                self._transaction(connection),
            ):
                yield connection

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute("INSERT INTO options VALUES (?)", (self.similarity,))
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise RunDirectoryError(
                f"{self.path} cannot be used ({error}): remove it and start the run again, and it "
                "is made anew from the records"
            ) from error


def _connect(path: Path | str) -> sqlite3.Connection:
    # in memory, an environment may be stepped in another thread than the one that made it
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def _forget_from(connection: sqlite3.Connection, iteration: int) -> None:
    query = "SELECT min(first) FROM iterations WHERE iteration >= ?"
    (first,) = connection.execute(query, (iteration,)).fetchone()
    if first is not None:
        connection.execute("DELETE FROM bands WHERE record >= ?", (first,))
        connection.execute("DELETE FROM records WHERE id >= ?", (first,))
        connection.execute("DELETE FROM iterations WHERE iteration >= ?", (iteration,))


def _parts(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (values[i : i + _AT_ONCE] for i in range(0, len(values), _AT_ONCE))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
