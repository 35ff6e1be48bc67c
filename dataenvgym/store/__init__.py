"""Profiles, episodes and scores: kept in memory, in files, or in Redis, behind one protocol.

Store (interface)       what all three can do; Kind names a sort of document and its model
MemoryStore (memory)    for a test, or a run that keeps nothing
FileStore (files)       a folder; one JSON file a document
RedisStore (redis)      for many profiles, several machines and live readers
RedisSettings           how to reach a Redis server; the teacher's shared cache uses it too

    CHARACTERS = Kind("characters", Character)
    store = open_store("redis://127.0.0.1:6379/0")
    store.put(CHARACTERS, "ann", ann)
    store.find(CHARACTERS, occupation="teacher")  # ["ann", ...]

Importing any of it opens no connection; a Redis server is reached when it is first used.
"""

from dataenvgym.store.files import FileStore
from dataenvgym.store.interface import Kind, Store, StoredEvent
from dataenvgym.store.memory import MemoryStore
from dataenvgym.store.opening import open_store
from dataenvgym.store.redis import RedisStore
from dataenvgym.store.redis_settings import RedisSettings, is_redis_url

__all__ = [
    "FileStore",
    "Kind",
    "MemoryStore",
    "RedisSettings",
    "RedisStore",
    "Store",
    "StoredEvent",
    "is_redis_url",
    "open_store",
]
