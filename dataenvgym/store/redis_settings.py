"""How to reach a Redis server; used by the store and by the teacher's shared cache."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dataenvgym.errors import ConfigurationError
from dataenvgym.secrets import keep_secrets_of

_SCHEMES = ("redis://", "rediss://", "unix://")


def is_redis_url(where: str) -> bool:
    """True for the address of a Redis server."""
    return where.startswith(_SCHEMES)


@dataclass(frozen=True)
class RedisSettings:
    """The address of a server, and time limits.

    The password in the URL is registered as a secret; `place` and the repr do not show it.

    Args:
        url: such as "redis://127.0.0.1:6379/0", with user and password if the server has them.
            Options of redis-py in its query ("?socket_timeout=1") take precedence.
        connect_s: seconds to wait for a connection.
        answer_s: seconds to wait for an answer.

    Raises:
        ConfigurationError: if it is not a Redis URL, or redis-py is not installed.
    """

    url: str = field(repr=False)
    connect_s: float = 3.0
    answer_s: float = 5.0

    def __post_init__(self) -> None:
        keep_secrets_of(self.url)
        if not is_redis_url(self.url):
            raise ConfigurationError(
                f"{self.place!r} is not the address of a Redis server, expected "
                "'redis://HOST:PORT/DB', 'rediss://...' or 'unix://...'"
            )
        if importlib.util.find_spec("redis") is None:
            raise ConfigurationError(
                f"{self.place} needs the package redis: pip install dataenvgym[redis]"
            )

    @property
    def place(self) -> str:
        """The URL without user, password and options."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def connected(self) -> Any:
        """A client of the server, for all threads; it connects at first use.

        Raises:
            ConfigurationError: if redis-py cannot read the URL.
        """
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError
        from redis.retry import Retry

        try:
            return Redis.from_url(
                self.url,
                socket_connect_timeout=self.connect_s,
                socket_timeout=self.answer_s,
                # one retry, for a connection that the server has closed in the meantime
                retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
            )
        except ValueError as error:
            raise ConfigurationError(
                f"{self.place} is not the address of a Redis server: {error}"
            ) from error
