"""Stored replies of a teacher: in a folder, or in Redis (see `redis_cache`).

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

log = logging.getLogger(__name__)


class ReplyCache(Protocol):
    """Stores replies by key; used from any thread and by several processes at once."""

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        """The reply under each key, or None; ExternalError if it cannot be read."""
        ...

    def put(self, key: str, reply: Reply) -> Reply:
        """Store a reply, unless there is one under the key; the one that is stored then."""
        ...


class FolderCache:
    """One file for each reply, in 256 folders; several processes may share it.

    A file appears whole or not at all.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()

    def get(self, keys: Sequence[str]) -> list[Reply | None]:
        return [self._read(key) for key in keys]

    def put(self, key: str, reply: Reply) -> Reply:
        """Store a reply, unless there is one; if the folder refuses it, that is only logged."""
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
