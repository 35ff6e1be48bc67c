"""Stores replies in Redis, for several processes and machines that ask the same teacher."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dataenvgym.errors import ExternalError
from dataenvgym.interfaces import Reply
from dataenvgym.llm.cache import from_entry, to_entry
from dataenvgym.run_warnings import warn_run
from dataenvgym.store import RedisSettings

T = TypeVar("T")

_PREFIX = "dataenvgym:reply:"
_CLAIM = "dataenvgym:claim:"
_CLAIM_S = 10.0  # after which the claims of a dead run expire
_RENEW_S = 3.0
_AT_ONCE = 512  # keys in one request

# An expired claim may belong to another run by now.
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"
_RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('pexpire', KEYS[1], ARGV[2]) end"

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
        self._owner = uuid.uuid4().hex
        self._claims: set[str] = set()
        self._renewed_at = time.monotonic()

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

    def put(self, key: str, reply: Reply) -> None:
        from redis.exceptions import ResponseError

        def keep(server: Any) -> None:
            try:
                server.set(_PREFIX + key, to_entry(key, reply))
            except ResponseError as error:
                log.warning("the cache at %s refused a reply: %s", self._settings.place, error)

        self._unless_lost(keep)

    def claim(self, key: str) -> Reply | bool:
        def claim(server: Any) -> Reply | bool:
            with server.pipeline() as both:
                both.set(_CLAIM + key, self._owner, nx=True, px=int(1000 * _CLAIM_S))
                both.get(_PREFIX + key)
                is_ours, entry = both.execute()
            if is_ours:
                self._claims.add(key)
            reply = from_entry(key, entry) if entry else None
            if reply is not None:
                self.release(key)
                return reply
            return bool(is_ours)

        claimed = self._unless_lost(claim)
        return True if claimed is None else claimed

    def release(self, key: str) -> None:
        if key in self._claims:
            self._claims.discard(key)
            self._unless_lost(lambda server: server.eval(_RELEASE, 1, _CLAIM + key, self._owner))

    def renew(self) -> None:
        with self._lock:
            if time.monotonic() - self._renewed_at < _RENEW_S:
                return
            self._renewed_at = time.monotonic()

        def renew(server: Any) -> None:
            with server.pipeline(transaction=False) as all_of_them:
                for key in list(self._claims):
                    lasts = int(1000 * _CLAIM_S)
                    all_of_them.eval(_RENEW, 1, _CLAIM + key, self._owner, lasts)
                all_of_them.execute()

        self._unless_lost(renew)

    def _unless_lost(self, use: Callable[[Any], T]) -> T | None:
        """Use the server; None if it is lost or refuses."""
        from redis.exceptions import RedisError, ResponseError

        if self._is_given_up:
            return None
        try:
            return use(self._connected())
        except ResponseError:
            return None
        except (RedisError, OSError) as error:
            self._give_up(error)
            return None

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
