"""Replies in Redis, for several processes and machines that ask the same teacher."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from dataenvgym.errors import ExternalError
from dataenvgym.interfaces import Reply
from dataenvgym.llm.cache import from_entry, to_entry
from dataenvgym.secrets import keep_secrets_of

_PREFIX = "dataenvgym:reply:"
_CONNECT_S = 5.0
_ANSWER_S = 30.0
_TRIES = 3
_AT_ONCE = 512  # keys in one request

log = logging.getLogger(__name__)


class RedisCache:
    """Keeps replies in a Redis server; connects when it is first used.

    A server that cannot be reached is an error when replies are looked up, before anything is
    spent. One that is lost before a reply is kept costs that entry, not the reply: the log says so.

    Args:
        url: such as "redis://127.0.0.1:6379/0", with user and password where the server has them.
    """

    def __init__(self, url: str) -> None:
        keep_secrets_of(url)
        self._url = url
        self._lock = threading.Lock()
        self._server: Any = None

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        """The reply under each key, or None.

        Raises:
            ExternalError: if the server cannot be reached, or refuses.
        """
        from redis.exceptions import RedisError

        entries: list[bytes | None] = []
        try:
            server = self._connected()
            for i in range(0, len(keys), _AT_ONCE):
                entries += server.mget([_PREFIX + key for key in keys[i : i + _AT_ONCE]])
        except (RedisError, OSError, ValueError) as error:
            raise ExternalError(
                f"the cache at {self._place} cannot be read: {error}. Start that Redis server, or "
                "set teacher.cache to a folder, or to null for none"
            ) from error
        return [(e and from_entry(k, e)) or None for k, e in zip(keys, entries, strict=True)]

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        from redis.exceptions import RedisError

        try:
            self._connected().set(_PREFIX + key, to_entry(key, reply))
        except (RedisError, OSError) as error:
            log.warning("the cache at %s did not take a reply: %s", self._place, error)

    def _connected(self) -> Any:
        from redis import Redis
        from redis.backoff import ExponentialBackoff
        from redis.exceptions import ConnectionError, TimeoutError
        from redis.retry import Retry

        with self._lock:
            if self._server is None:
                self._server = Redis.from_url(
                    self._url,
                    socket_connect_timeout=_CONNECT_S,
                    socket_timeout=_ANSWER_S,
                    retry=Retry(ExponentialBackoff(cap=2.0, base=0.1), _TRIES),
                    retry_on_error=[ConnectionError, TimeoutError],
                )
            return self._server

    @property
    def _place(self) -> str:
        """The URL without user and password."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
