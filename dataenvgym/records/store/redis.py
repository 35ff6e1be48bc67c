"""A store in a Redis server: an index for every field, several machines, live readers.

Streams of events are Redis Streams (`dataenvgym:store.events:<name>`; the event is JSON in the
field "event"), so other programs can follow them with XREAD.

Each change is a Lua script, which runs on the server in one step, completely or not at all. Keys,
for a prefix P and a kind K (one server, not a cluster: the scripts compute index keys):

    P:K:document:<id>      string: the document as JSON
    P:K:ids                sorted set: id -> when the document expires (ms since 1970; +inf: never)
    P:K:tokens:<id>        set: the tokens under which the document is found
    P:K:index:<token>      set: the ids of the documents that have this token

Each script first removes expired documents from the sets, at most 1,000 in a `put`. `ARGV[1]` is
always `P:K:`.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, StoreError
from dataenvgym.events import keep_secrets_of
from dataenvgym.records.store.documents import (
    Kind,
    M,
    Store,
    StoredEvent,
    check_name,
    event_to_json,
    from_json,
    to_json,
    tokens,
    wanted_tokens,
)

_COMMON = """
local base = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function unindex(id)
  for _, token in ipairs(redis.call('SMEMBERS', base .. 'tokens:' .. id)) do
    redis.call('SREM', base .. 'index:' .. token, id)
  end
  redis.call('DEL', base .. 'tokens:' .. id)
end

local function sweep(most)
  local ended = redis.call('ZRANGEBYSCORE', base .. 'ids', '-inf', now, 'LIMIT', 0, most)
  for _, id in ipairs(ended) do
    unindex(id)
    redis.call('DEL', base .. 'document:' .. id)
    redis.call('ZREM', base .. 'ids', id)
  end
end
"""

PUT = (
    _COMMON
    + """
local id, lasts = ARGV[2], tonumber(ARGV[4])
-- the document first: a server that is full refuses the first write of a script, and no later one
if lasts > 0 then
  redis.call('SET', base .. 'document:' .. id, ARGV[3], 'PXAT', now + lasts)
  redis.call('ZADD', base .. 'ids', now + lasts, id)
else
  redis.call('SET', base .. 'document:' .. id, ARGV[3])
  redis.call('ZADD', base .. 'ids', '+inf', id)
end
unindex(id)
for i = 5, #ARGV do
  redis.call('SADD', base .. 'tokens:' .. id, ARGV[i])
  redis.call('SADD', base .. 'index:' .. ARGV[i], id)
end
sweep(1000)
"""
)

DELETE = (
    _COMMON
    + """
local id = ARGV[2]
sweep(-1)
unindex(id)
redis.call('ZREM', base .. 'ids', id)
return redis.call('DEL', base .. 'document:' .. id)
"""
)

# One text for all ids: a client parses it many times faster than a list. Ids contain no newline.
FIND = (
    _COMMON
    + """
sweep(-1)
if #ARGV == 1 then return table.concat(redis.call('ZRANGE', base .. 'ids', 0, -1), '\\n') end
local keys = {}
for i = 2, #ARGV do keys[i - 1] = base .. 'index:' .. ARGV[i] end
return table.concat(redis.call('SINTER', unpack(keys)), '\\n')
"""
)


_CONNECT_S, _ANSWER_S = 3.0, 5.0  # the most seconds to wait for a connection, and for an answer
_SCHEMES = ("redis://", "rediss://", "unix://")


def is_redis_url(where: str) -> bool:
    """True for the address of a Redis server."""
    return where.startswith(_SCHEMES)


@dataclass(frozen=True)
class RedisSettings:
    """The address of a server.

    The password in the URL is registered as a secret; `place` and the repr do not show it.

    Args:
        url: such as "redis://127.0.0.1:6379/0", with user and password if the server has them.
            Options of redis-py in its query ("?socket_timeout=1") take precedence.

    Raises:
        ConfigurationError: if it is not a Redis URL, or redis-py is not installed.
    """

    url: str = field(repr=False)

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
                socket_connect_timeout=_CONNECT_S,
                socket_timeout=_ANSWER_S,
                # one retry, for a connection that the server has closed in the meantime
                retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
            )
        except ValueError as error:
            raise ConfigurationError(
                f"{self.place} is not the address of a Redis server: {error}"
            ) from error


_PREFIX = "dataenvgym:store"
_AT_ONCE = 512  # documents in one request


class RedisStore(Store):
    """Stores documents in a Redis server (6.2 or newer, not a cluster).

    It connects at first use, and again after the connection was lost.

    Args:
        settings: how to reach the server.
        expires_s: seconds after the last writing of a document or the last event of a stream, after
            which the server deletes it; None for never.
    """

    def __init__(self, settings: RedisSettings, *, expires_s: float | None = None) -> None:
        self.settings = settings
        self._lasts_ms = 0 if expires_s is None else max(1, round(1000 * expires_s))
        self._lock = threading.Lock()
        self._client: Any = None
        self._scripts: dict[str, Any] = {}

    def put(self, kind: Kind[M], id: str, document: M) -> None:
        data = to_json(kind, document)
        found_by = sorted(tokens(data))
        self._run(PUT, kind, check_name(id), data, self._lasts_ms, *found_by)

    def get_many(self, kind: Kind[M], ids: Sequence[str]) -> list[M | None]:
        keys = [f"{self._base(kind)}document:{check_name(id)}" for id in ids]
        found: list[bytes | None] = []
        with self._reached() as client:
            for i in range(0, len(keys), _AT_ONCE):
                found += client.mget(keys[i : i + _AT_ONCE])
        return [
            None if data is None else from_json(kind, data, f"{key} in {self.settings.place}")
            for key, data in zip(keys, found, strict=True)
        ]

    def delete(self, kind: Kind[M], id: str) -> bool:
        return bool(self._run(DELETE, kind, check_name(id)))

    def find(self, kind: Kind[M], **fields: object) -> list[str]:
        found: bytes = self._run(FIND, kind, *wanted_tokens(kind, fields))
        return sorted(found.decode().split("\n")) if found else []

    def add_event(self, stream: str, event: Mapping[str, Any]) -> str:
        entry = {"event": event_to_json(event)}
        with self._reached() as client, client.pipeline() as both:
            both.xadd(key := self._stream(stream), entry)
            if self._lasts_ms:
                both.pexpire(key, self._lasts_ms)
            position: bytes = both.execute()[0]
        return position.decode()

    def events(self, stream: str, after: str | None = None) -> list[StoredEvent]:
        start = "-" if after is None else f"({after}"
        with self._reached() as client:
            entries = client.xrange(self._stream(stream), min=start)
        return [StoredEvent(at.decode(), exact_json.loads(e[b"event"])) for at, e in entries]

    def _base(self, kind: Kind[M]) -> str:
        return f"{_PREFIX}:{kind.name}:"

    def _stream(self, name: str) -> str:
        return f"{_PREFIX}.events:{check_name(name)}"

    def _run(self, script: str, kind: Kind[M], *arguments: str | bytes | int) -> Any:
        with self._reached() as client:
            if script not in self._scripts:
                self._scripts[script] = client.register_script(script)
            return self._scripts[script](args=[self._base(kind), *arguments])

    @contextmanager
    def _reached(self) -> Iterator[Any]:
        from redis.exceptions import OutOfMemoryError, RedisError

        try:
            with self._lock:
                if self._client is None:
                    self._client = self.settings.connected()
            yield self._client
        except OutOfMemoryError as error:
            raise self._failed(error, "Raise its maxmemory or remove what is not needed") from error
        except (RedisError, OSError) as error:
            raise self._failed(error, "Start that Redis server or correct its address") from error

    def _failed(self, error: Exception, way_out: str) -> StoreError:
        return StoreError(
            f"the store at {self.settings.place} failed: {error}. {way_out}, then run the same "
            "command again: earlier documents are intact"
        )
