"""Stored replies of a teacher: in a folder, or in Redis.

The key of a reply is the hash of everything that it depends on: the teacher's identity, the request
as it is sent, and which sample of that request it is. Only replies are stored, never failures. An
entry that cannot be read, or has another key, is ignored.

Runs that share a cache at the same time may ask, and pay, the same question twice; the first stored
reply is the one that all of them get.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, ExternalError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records.store import RedisSettings, is_redis_url

_PREFIX = "dataenvgym:reply:"

log = logging.getLogger(__name__)


class FolderCache:
    """One file for each reply, in 256 folders; any thread and several processes may share it.

    A file appears whole or not at all.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        """The reply under each key, or None; ExternalError if the folder cannot be read."""
        return [self._read(key) for key in keys]

    def put(self, key: str, reply: Reply) -> Reply:
        """Store a reply, unless there is one under the key; the one that is stored then.

        If the folder refuses it, that is only logged.
        """
        path = self._path(key)
        # a unique name: another process may be writing the same reply
        temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_bytes(to_entry(key, reply))
                try:
                    os.link(temporary, path)
                except OSError:  # there is one, perhaps a broken one; or no links on this disk
                    if (stored := self._read(key)) is not None:
                        return stored
                    temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except (OSError, ExternalError) as error:
            log.warning("the cache in %s refused a reply: %s", self.folder, error)
        return reply

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


class RedisCache:
    """Stores replies in a Redis server; connects at first use.

    If the server cannot be reached at the first look-up, that is an error, before anything is
    spent. If it is lost later, a warning says so, and from then on this object finds and stores no
    replies. If the server is full, only that entry is lost; the log says so.

    Args:
        settings: how to reach the server.
    """

    def __init__(self, settings: RedisSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._server: Any = None
        self._was_there = False
        self._is_given_up = False

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        from redis.exceptions import RedisError

        if self._is_given_up:
            return [None] * len(keys)
        try:
            entries = self._connected().mget([_PREFIX + key for key in keys]) if keys else []
        except (RedisError, OSError, ValueError) as error:
            if self._was_there:
                self._give_up(error)
                return [None] * len(keys)
            raise ExternalError(
                f"the cache at {self._settings.place} cannot be read: {error}. Start that "
                "Redis server, or set teacher.cache to a folder, or to null for none"
            ) from error
        self._was_there = True
        return [(e and from_entry(k, e)) or None for k, e in zip(keys, entries, strict=True)]

    def put(self, key: str, reply: Reply) -> Reply:
        from redis.exceptions import RedisError, ResponseError

        if self._is_given_up:
            return reply
        name, entry = _PREFIX + key, to_entry(key, reply)
        try:
            server = self._connected()
            if not server.set(name, entry, nx=True):
                first = server.get(name)
                if first and (stored := from_entry(key, first)) is not None:
                    return stored
                server.set(name, entry)  # the first one is broken
        except ResponseError as error:
            log.warning("the cache at %s refused a reply: %s", self._settings.place, error)
        except (RedisError, OSError) as error:
            self._give_up(error)
        return reply

    def _give_up(self, error: Exception) -> None:
        with self._lock:
            if self._is_given_up:
                return
            self._is_given_up = True
        warn_run(
            f"the cache at {self._settings.place} is lost and no longer used: {error}. "
            "Questions that it could answer are asked, and paid, again; start that Redis server "
            "before the next run"
        )

    def _connected(self) -> Any:
        with self._lock:
            if self._server is None:
                self._server = self._settings.connected()
            return self._server


ReplyCache = FolderCache | RedisCache


def open_cache(where: str | Path) -> ReplyCache:
    """The cache in a folder, or in Redis for "redis://HOST:PORT"; else ConfigurationError."""
    if is_redis_url(str(where)):
        return RedisCache(RedisSettings(str(where)))
    if not str(where) or "://" in str(where):
        raise ConfigurationError(
            f"cache is {str(where)!r}, expected a folder, redis://HOST:PORT, or null for none"
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


def to_entry(key: str, reply: Reply) -> bytes:
    """A reply as it is stored."""
    return exact_json.dumps({"key": key, "reply": reply.model_dump(mode="json")})


def from_entry(key: str, entry: bytes) -> Reply | None:
    """The reply in an entry; None if it is broken, or has another key."""
    try:
        read = exact_json.loads(entry)
        return Reply.model_validate(read["reply"]) if read["key"] == key else None
    except (ValueError, LookupError, TypeError):
        return None
