"""Dumps of Sotopia's database: a folder of JSON files, or the Redis server that it runs on.

    AgentProfile, EnvironmentProfile, RelationshipProfile, EpisodeLog

Each is a file (`AgentProfile.json`, a list; or `AgentProfile.jsonl`), or keys such as
`:sotopia.database.persistent_profile.AgentProfile:<pk>`, which redis-om writes as RedisJSON; plain
strings of JSON are read too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import orjson

from dataenvgym.errors import BrokenFileError, InvalidInstanceError, StoreError
from dataenvgym.storage import write_json
from dataenvgym.store import RedisSettings, is_redis_url
from dataenvgym.tasks.social import sotopia
from dataenvgym.tasks.social.collection import Origin, Profiles, by_id
from dataenvgym.tasks.social.episodes import Episode
from dataenvgym.tasks.social.parsing import read_entries
from dataenvgym.tasks.social.profiles import Character, RelationshipProfile, Scene

M = TypeVar("M", Character, Scene, RelationshipProfile, Episode)
_Entries = Callable[[str], Iterator[tuple[str, Any]]]


@dataclass(frozen=True)
class SotopiaDump:
    """The contents of a dump."""

    profiles: Profiles
    episodes: tuple[Episode, ...] = ()


def read_sotopia(where: str | Path) -> SotopiaDump:
    """Read a dump from a folder, or from a server ("redis://HOST:PORT/DB").

    Raises:
        InvalidInstanceError: if an entry cannot be used, naming file or key, and field; or if
            InvalidInstanceError: if an entry cannot be used, naming file or key, and field; or if
                there are no characters.
        StoreError: if the server cannot be reached.
    """
    entries: _Entries
    if is_redis_url(str(where)):
        settings = RedisSettings(str(where))
        where, entries = settings.place, _keys_of(settings)
    else:
        entries = _files_in(Path(where).expanduser())
    characters = _by_id(entries("AgentProfile"), sotopia.character_from_sotopia)
    if not characters:
        raise InvalidInstanceError(
            f"{where} holds no AgentProfile: expected AgentProfile.json or .jsonl in a folder, or "
            "keys ':sotopia.database.persistent_profile.AgentProfile:<pk>' in Redis"
        )
    scenes = _by_id(entries("EnvironmentProfile"), sotopia.scene_from_sotopia)
    ties = _by_id(entries("RelationshipProfile"), sotopia.relationship_from_sotopia)
    episodes = _by_id(entries("EpisodeLog"), sotopia.episode_from_sotopia)
    origin = Origin(
        {
            "characters": f"AgentProfile in {where}",
            "scenes": f"EnvironmentProfile in {where}",
            "relationships": f"RelationshipProfile in {where}",
        },
        {
            "scenes": sotopia.SCENE_NAMES,
            "relationships": {"characters": "agent_1_id or agent_2_id"},
        },
    )
    return SotopiaDump(Profiles(characters, scenes, ties, origin), tuple(episodes.values()))


def write_sotopia(folder: str | Path, dump: SotopiaDump) -> None:
    """Write the four files of a dump, as JSON lists.

    Raises:
        InvalidInstanceError: if a seat of an episode has no score.
    """
    profiles = dump.profiles
    files: dict[str, list[dict[str, Any]]] = {
        "AgentProfile": [sotopia.character_to_sotopia(c) for c in profiles.characters.values()],
        "EnvironmentProfile": [sotopia.scene_to_sotopia(s) for s in profiles.scenes.values()],
        "RelationshipProfile": [
            sotopia.relationship_to_sotopia(r) for r in profiles.relationships.values()
        ],
        "EpisodeLog": [sotopia.episode_to_sotopia(e) for e in dump.episodes],
    }
    for name, entries in files.items():
        write_json(Path(folder).expanduser() / f"{name}.json", entries)


def _by_id(entries: Iterable[tuple[str, Any]], read: Callable[[Any, str], M]) -> dict[str, M]:
    return by_id(((place, read(entry, place)) for place, entry in entries), field="pk")


def _files_in(folder: Path) -> _Entries:
    def entries(name: str) -> Iterator[tuple[str, Any]]:
        for path in (folder / f"{name}.json", folder / f"{name}.jsonl"):
            if path.exists():
                for number, entry in enumerate(read_entries(path)):
                    yield f"{path}, entry {number}", entry

    return entries


def _keys_of(settings: RedisSettings) -> _Entries:
    client = settings.connected()

    def entries(name: str) -> Iterator[tuple[str, Any]]:
        from redis.exceptions import RedisError

        try:
            # redis-om keeps the hash of its index next to the entries; its key has one more colon
            pattern = f":sotopia.database.*.{name}:*"
            keys = [k.decode() for k in client.scan_iter(match=pattern, count=1000)]
            for key in sorted(k for k in keys if k.count(":") == 2):
                yield _entry(key, _value(client, key), settings.place)
        except (RedisError, OSError) as error:
            raise StoreError(
                f"the dump at {settings.place} cannot be read: {error}. Start that Redis server; "
                "one with RedisJSON (Redis Stack, Redis 8) for keys that redis-om wrote"
            ) from error

    return entries


def _value(client: Any, key: str) -> bytes:
    is_plain = client.type(key) == b"string"
    value = client.get(key) if is_plain else client.execute_command("JSON.GET", key)
    return value.encode() if isinstance(value, str) else value or b"null"


def _entry(key: str, value: bytes, place: str) -> tuple[str, Any]:
    where = f"{place}, key {key!r}"
    try:
        entry = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise BrokenFileError(f"{where} is damaged: it is not JSON ({error})") from error
    if isinstance(entry, dict):
        entry.setdefault("pk", key.rpartition(":")[2])
    return where, entry
