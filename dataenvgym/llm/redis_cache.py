"""Stores replies in Redis, for several processes and machines that ask the same teacher."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

from dataenvgym.errors import ExternalError
from dataenvgym.interfaces import Reply
from dataenvgym.llm.cache import from_entry, to_entry
from dataenvgym.run_warnings import warn_run
from dataenvgym.store import RedisSettings

_PREFIX = "dataenvgym:reply:"
_AT_ONCE = 512  # keys in one request

log = logging.getLogger(__name__)


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
        entries: list[bytes | None] = []
        try:
            server = self._connected()
            for i in range(0, len(keys), _AT_ONCE):
                entries += server.mget([_PREFIX + key for key in keys[i : i + _AT_ONCE]])
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
