"""Stores profiles, episodes and scores in memory, in files, or in Redis, behind one protocol.

Store (interface)       the protocol of all three; Kind names a kind of document and its model
MemoryStore (memory)    for a test, or a run that stores nothing
FileStore (files)       a folder; one JSON file per document
RedisStore (redis)      for many profiles, several machines and live readers
RedisSettings           how to reach a Redis server; the teacher's shared cache uses it too

    CHARACTERS = Kind("characters", Character)
    store = open_store("redis://127.0.0.1:6379/0")
    store.put(CHARACTERS, "ann", ann)
    store.find(CHARACTERS, occupation="teacher")  # ["ann", ...]

Importing it opens no connection; a Redis server is connected at first use.
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
