"""Stores profiles, episodes and scores in files or in Redis, behind one interface.

Store          the base of both; Kind names a kind of document and its model
FileStore      a folder; one JSON file per document
RedisStore     for many profiles, several machines and live readers
RedisSettings  how to reach a Redis server; the teacher's shared cache uses it too

    CHARACTERS = Kind("characters", Character)
    store = open_store("redis://127.0.0.1:6379/0")
    store.put(CHARACTERS, "ann", ann)
    store.find(CHARACTERS, occupation="teacher")  # ["ann", ...]

Importing it opens no connection; a Redis server is connected at first use.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import PositiveFloat

from dataenvgym.errors import ConfigurationError
from dataenvgym.records.store.documents import FileStore, Kind, Store
from dataenvgym.records.store.redis import RedisSettings, RedisStore, is_redis_url

__all__ = [
    "FileStore",
    "Kind",
    "RedisSettings",
    "RedisStore",
    "Store",
    "is_redis_url",
    "open_store",
]


def open_store(where: str | Path, *, expires_s: PositiveFloat | None = None) -> Store:
    """The store in a folder, or in Redis ("redis://HOST:PORT/DB").

    Args:
        expires_s: seconds after which Redis deletes a document; None for never.

    Raises:
        ConfigurationError: for another kind of store, or for `expires_s` without Redis.
    """
    if is_redis_url(str(where)):
        return RedisStore(RedisSettings(str(where)), expires_s=expires_s)
    if expires_s is not None:
        raise ConfigurationError(
            f"expires_s is {expires_s} for a store at {where}: only Redis forgets; give a server "
            "such as 'redis://127.0.0.1:6379', or leave expires_s out"
        )
    if not str(where) or "://" in str(where):
        raise ConfigurationError(
            f"the store is {str(where)!r}, expected a folder, or a server such as "
            "'redis://127.0.0.1:6379'"
        )
    return FileStore(where)
