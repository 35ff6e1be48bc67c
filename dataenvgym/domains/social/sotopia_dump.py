"""Dumps of Sotopia's database: a folder of JSON files, or the Redis server that it runs on.

    AgentProfile, EnvironmentProfile, RelationshipProfile, EpisodeLog

Each is a file (`AgentProfile.json`, a list; or `AgentProfile.jsonl`), or keys such as
`:sotopia.database.persistent_profile.AgentProfile:<pk>`, which redis-om writes as RedisJSON; plain
strings of JSON are read too. What our models have no field for is not read.

Sotopia's benchmark is in two more classes: EnvAgentComboStorage has its casts, and EnvironmentList
its hard scenes. `read_benchmark` reads what it plays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from dataenvgym import exact_json
from dataenvgym.domains.social.collection import Origin, Profiles, by_id, parse, read_entries
from dataenvgym.domains.social.profiles import Filled
from dataenvgym.domains.social.scene_log import SceneLog
from dataenvgym.domains.social.sotopia import CLASSES, RELATIONSHIP_NAMES, SCENE_NAMES
from dataenvgym.errors import BrokenFileError, InvalidInstanceError, StoreError
from dataenvgym.events import warn_run
from dataenvgym.records.model import Model, Text
from dataenvgym.records.store import RedisSettings, is_redis_url
from dataenvgym.storage import write_json

_Entries = Callable[[str], Iterator[tuple[str, Any]]]
HARD_LIST = "01HAK34YPB1H1RWXQDASDKHSNS"
"""The pk of the list with the hard scenes of Sotopia's benchmark."""
_BY_CODENAME = {"cooperative": "mutual", "competitive": "craigslist"}
"""Sotopia's subsets of scenes whose codename has this word."""


class _Combo(Model, extra="ignore"):
    """Characters for a scene (`EnvAgentComboStorage`)."""

    env_id: Filled
    agent_ids: tuple[Filled, ...]


class _SceneList(Model, extra="ignore"):
    """Scenes, and the seat of the tested model in each (`EnvironmentList`)."""

    pk: Text = ""
    name: Text = ""
    environments: tuple[Filled, ...] = ()
    agent_index: tuple[int, ...] | None = Field(default=None)


@dataclass(frozen=True)
class SotopiaDump:
    """The contents of a dump."""

    profiles: Profiles
    episodes: tuple[SceneLog, ...] = ()


def read_sotopia(where: str | Path) -> SotopiaDump:
    """Read a dump from a folder, or from a server ("redis://HOST:PORT/DB").

    Raises:
        InvalidInstanceError: if an entry cannot be used, naming file or key, and field; or if
            there are no characters.
        BrokenFileError: if a file is not JSON.
        StoreError: if the server cannot be reached.
    """
    where, entries = _entries_at(where)
    found: dict[str, dict[str, Any]] = {}
    for name, (read, _) in CLASSES.items():
        found[name] = by_id([(p, read(entry, p)) for p, entry in entries(name)], field="pk")
    characters, scenes, ties, episodes = found.values()
    profiles = Profiles(characters, scenes, ties, _origin(characters, where))
    return SotopiaDump(profiles, tuple(episodes.values()))


def is_dump(where: str | Path) -> bool:
    """Whether it is the address of a Redis server, or a folder with characters of a dump."""
    if is_redis_url(str(where)):
        return True
    files = (Path(where).expanduser() / f"AgentProfile{end}" for end in (".json", ".jsonl"))
    return any(file.exists() for file in files)


def read_benchmark(where: str | Path) -> Profiles:
    """The scenes that Sotopia's benchmark plays, with its casts, from a dump.

    If the dump lists casts, only scenes with some are there, and each has its casts alone, whatever
    ages and occupations it asks for. The subsets are "hard" (the list `HARD_LIST`), every other
    list by its name, and "cooperative" and "competitive", by codename, as in Sotopia. A list also
    has the seats that the tested model takes (`seats=listed`). Episodes are not read.

    Raises:
        InvalidInstanceError, BrokenFileError, StoreError: as in `read_sotopia`.
    """
    where, entries = _entries_at(where)
    found: dict[str, dict[str, Any]] = {}
    for name in ("AgentProfile", "EnvironmentProfile", "RelationshipProfile"):
        read, _ = CLASSES[name]
        found[name] = by_id([(p, read(entry, p)) for p, entry in entries(name)], field="pk")
    characters, scenes, ties = found.values()
    casts: dict[str, list[tuple[str, ...]]] = {}
    for place, entry in entries("EnvAgentComboStorage"):
        combo = parse(_Combo, entry, place)
        casts.setdefault(combo.env_id, []).append(combo.agent_ids)
    subsets: dict[str, list[str]] = {}
    listed: dict[str, dict[str, tuple[int, ...]]] = {}
    for place, entry in entries("EnvironmentList"):
        of = parse(_SceneList, entry, place)
        name = "hard" if of.pk == HARD_LIST else of.name or of.pk
        for scene in of.environments:
            subsets.setdefault(scene, []).append(name)
        if of.agent_index is not None:
            listed[name] = _seats(of, of.agent_index, scenes, place)
    absent = [id for id in dict.fromkeys([*casts, *subsets]) if id not in scenes]
    unlisted = [id for id in scenes if casts and id not in casts]
    for ids, why in (
        (absent, "casts or lists name scenes that the dump does not have"),
        (unlisted, "scenes have no casts, and are left out"),
    ):
        if ids:
            warn_run(f"{where}: {len(ids)} {why}, first {ids[0]!r}")
    played = {}
    for id, scene in scenes.items():
        if casts and id not in casts:
            continue
        named = (n for n, word in _BY_CODENAME.items() if word in scene.codename.lower())
        update: dict[str, Any] = {"subsets": tuple(dict.fromkeys([*subsets.get(id, ()), *named]))}
        if casts:
            update |= {"casts": tuple(casts[id]), "ages": (), "occupations": ()}
        played[id] = type(scene).model_validate(scene.model_dump() | update)
    return Profiles(characters, played, ties, _origin(characters, where), listed)


def _seats(
    of: _SceneList, seats: Sequence[int], scenes: Mapping[str, Any], place: str
) -> dict[str, tuple[int, ...]]:
    """The seats that a list names for each of its scenes, each once."""
    if len(seats) != len(of.environments):
        raise InvalidInstanceError(
            f"{place}, field 'agent_index': found {len(seats)} seats, expected one for each of the "
            f"{len(of.environments)} environments"
        )
    found: dict[str, tuple[int, ...]] = {}
    for scene, seat in zip(of.environments, seats, strict=True):
        if scene in scenes and not 0 <= seat < (n := scenes[scene].seats):
            raise InvalidInstanceError(
                f"{place}, field 'agent_index': found {seat} for {scene!r}, expected 0 to {n - 1}"
            )
        found[scene] = tuple(dict.fromkeys([*found.get(scene, ()), seat]))
    return found


def _entries_at(where: str | Path) -> tuple[str | Path, _Entries]:
    """The place, for messages, and the entries of a class there."""
    if is_redis_url(str(where)):
        settings = RedisSettings(str(where))
        return settings.place, partial(_in_redis, settings.connected(), settings.place)
    return where, partial(_in_files, Path(where).expanduser())


def _origin(characters: Mapping[str, Any], where: str | Path) -> Origin:
    if not characters:
        raise InvalidInstanceError(
            f"{where} holds no AgentProfile: expected AgentProfile.json or .jsonl in a folder, or "
            "keys ':sotopia.database.persistent_profile.AgentProfile:<pk>' in Redis"
        )
    kinds = zip(("characters", "scenes", "relationships"), CLASSES, strict=False)
    return Origin(
        {kind: f"{name} in {where}" for kind, name in kinds},
        {"scenes": SCENE_NAMES, "relationships": RELATIONSHIP_NAMES},
    )


def write_sotopia(folder: str | Path, dump: SotopiaDump) -> None:
    """Write the four files of a dump, as JSON lists of what our models hold.

    Raises:
        InvalidInstanceError: if a seat of an episode has no score.
    """
    of = dump.profiles
    contents: list[Iterable[Any]] = [
        d.values() for d in (of.characters, of.scenes, of.relationships)
    ]
    files = {
        name: [write(profile) for profile in profiles]
        for (name, (_, write)), profiles in zip(
            CLASSES.items(), [*contents, dump.episodes], strict=True
        )
    }
    for name, entries in files.items():  # once all of them can be written
        write_json(Path(folder).expanduser() / f"{name}.json", entries)


def _in_files(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    for path in (folder / f"{name}.json", folder / f"{name}.jsonl"):
        if path.exists():
            for number, entry in enumerate(read_entries(path)):
                yield f"{path}, entry {number}", entry


def _in_redis(client: Any, place: str, name: str) -> Iterator[tuple[str, Any]]:
    from redis.exceptions import RedisError

    try:
        # redis-om keeps the hash of its index next to the entries; its key has one more colon
        pattern = f":sotopia.database.*.{name}:*"
        keys = [k.decode() for k in client.scan_iter(match=pattern, count=1000)]
        for key in sorted(k for k in keys if k.count(":") == 2):
            is_plain = client.type(key) == b"string"
            value = client.get(key) if is_plain else client.execute_command("JSON.GET", key)
            where = f"{place}, key {key!r}"
            try:
                entry = exact_json.loads(value or b"null")
            except exact_json.JSONDecodeError as error:
                raise BrokenFileError(f"{where} is damaged: it is not JSON ({error})") from error
            if isinstance(entry, dict):
                entry.setdefault("pk", key.rpartition(":")[2])
            yield where, entry
    except (RedisError, OSError) as error:
        raise StoreError(
            f"the dump at {place} cannot be read: {error}. Start that Redis server; "
            "one with RedisJSON (Redis Stack, Redis 8) for keys that redis-om wrote"
        ) from error
