"""Opens the store that a configuration names."""

from __future__ import annotations

from pathlib import Path

from dataenvgym.errors import ConfigurationError
from dataenvgym.store.files import FileStore
from dataenvgym.store.interface import Store
from dataenvgym.store.memory import MemoryStore
from dataenvgym.store.redis import RedisStore
from dataenvgym.store.redis_settings import RedisSettings, is_redis_url


def open_store(where: str | Path | None, *, expires_s: float | None = None) -> Store:
    """The store in memory (None), in a folder, or in Redis ("redis://HOST:PORT/DB").

    Args:
        expires_s: seconds after which Redis deletes a document; None for never.

    Raises:
        ConfigurationError: for another kind of store, or for `expires_s` without Redis.
    """
    if where is not None and is_redis_url(str(where)):
        return RedisStore(RedisSettings(str(where)), expires_s=expires_s)
    if expires_s is not None:
        raise ConfigurationError(
            f"expires_s is {expires_s} for a store at {where}: only Redis forgets; give a server "
            "such as 'redis://127.0.0.1:6379', or leave expires_s out"
        )
    if where is None:
        return MemoryStore()
    if not str(where) or "://" in str(where):
        raise ConfigurationError(
            f"the store is {str(where)!r}, expected a folder, a server such as "
            "'redis://127.0.0.1:6379', or null for memory"
        )
    return FileStore(where)
