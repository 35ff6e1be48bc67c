"""Stored replies of a teacher: in a folder, or in Redis (see `redis_cache`).

The key of a reply is the hash of everything that it depends on: the teacher's identity, the request
as it is sent, and which sample of that request it is. Only replies are stored, never failures. An
entry that cannot be read, or has another key, is ignored.

Runs that share a cache at the same time do not ask the same question twice: before a run asks, it
claims the key (see `teacher_ask`).
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import struct
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pydantic import Field, ValidationError

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, ExternalError
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Model
from dataenvgym.store import RedisSettings, is_redis_url

_TAKEN = (errno.EAGAIN, errno.EACCES)


class KeyLocks:
    """Each key is one byte of a file, which is locked and never written.

    If the system lacks such locks, or the file cannot be opened, every lock is granted.

    Args:
        path: of the file, which the first lock creates.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._file: int | None = None

    def acquire(self, key: str) -> bool:
        """Take the lock of a key (hex); False if it is held, by this object or another."""
        with self._lock:
            if key in self._held:
                return False
            if not self._set(key, is_locked=True):
                return False
            self._held.add(key)
            return True

    def release(self, key: str) -> None:
        """Release the lock, if it is held."""
        with self._lock:
            if key in self._held:
                self._held.remove(key)
                self._set(key, is_locked=False)

    def _set(self, key: str, *, is_locked: bool) -> bool:
        try:
            import fcntl

            # these locks belong to an open file, so two objects in one process are two holders
            command = fcntl.F_OFD_SETLK
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except (ImportError, AttributeError, OSError):
            return True
        kind = fcntl.F_WRLCK if is_locked else fcntl.F_UNLCK
        request = struct.pack("hhqqi4x", kind, os.SEEK_SET, int(key[:15], 16), 1, 0)
        try:
            fcntl.fcntl(self._file, command, request)
        except OSError as error:
            return error.errno not in _TAKEN
        return True

    def __del__(self) -> None:
        if self._file is not None:
            os.close(self._file)


log = logging.getLogger(__name__)


class ReplyCache(Protocol):
    """Stores replies by key; used from any thread and by several processes at once."""

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        """The reply under each key, or None; ExternalError if it cannot be read."""
        ...

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply."""
        ...

    def claim(self, key: str) -> Reply | bool:
        """The reply, if it is stored; otherwise whether the key was free and is now ours."""
        ...

    def release(self, key: str) -> None:
        """Release a claim."""
        ...

    def renew(self) -> None:
        """Renew all claims; otherwise they expire some seconds after they were made."""
        ...


class FolderCache:
    """One file for each reply, in 256 folders; several processes may share it.

    A file appears whole or not at all. Claims are locks in the file `.claims`; they end with their
    process.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        self._locks = KeyLocks(self.folder / ".claims")

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        return [self._read(key) for key in keys]

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply; if the folder refuses it, that is only logged."""
        path = self._path(key)
        # a unique name: another process may be writing the same reply
        temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(to_entry(key, reply))
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the cache in %s refused a reply: %s", self.folder, error)

    def claim(self, key: str) -> Reply | bool:
        if not self._locks.acquire(key):
            return False
        if (reply := self._read(key)) is not None:
            self._locks.release(key)
            return reply
        return True

    def release(self, key: str) -> None:
        self._locks.release(key)

    def renew(self) -> None:
        """Do nothing: locks last as long as their process."""

    def _read(self, key: str) -> Reply | None:
        try:
            return from_entry(key, self._path(key).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ExternalError(
                f"the cache in {self.folder} cannot be read: {error}. Set teacher.cache to a "
                "folder that you may read and write, or to null for none"
            ) from error

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def open_cache(where: str | Path) -> ReplyCache:
    """The cache in a folder, or in Redis for "redis://HOST:PORT"; else ConfigurationError."""
    if is_redis_url(str(where)):
        from dataenvgym.llm.redis_cache import RedisCache

        return RedisCache(RedisSettings(str(where)))
    if not str(where) or "://" in str(where):
        raise ConfigurationError(
            f"cache is {str(where)!r}, expected a folder, a server such as "
            "'redis://127.0.0.1:6379', or null for none"
        )
    return FolderCache(where)


def request_key(identity: str, body: bytes, sampling: SamplingParameters, sample: int) -> str:
    """The key of a reply (SHA-256, hex).

    Args:
        identity: the teacher's.
        body: the request as it is sent, with model and messages.
        sampling: contains settings that the request may omit, such as a greedy one's seed.
        sample: the number (from 0) among several samples of the same request.
    """
    request = [identity, body.decode(), sampling.model_dump(mode="json"), sample]
    return hashlib.sha256(exact_json.dumps(request, option=exact_json.SORT_KEYS)).hexdigest()


class _Entry(Model):
    key: str = Field(min_length=1)
    reply: Reply


def to_entry(key: str, reply: Reply) -> bytes:
    """A reply as it is stored."""
    return _Entry(key=key, reply=reply).model_dump_json().encode()


def from_entry(key: str, entry: bytes) -> Reply | None:
    """The reply in an entry; None if it is broken, or has another key."""
    try:
        read = _Entry.model_validate_json(entry)
    except ValidationError:
        return None
    return read.reply if read.key == key else None
