"""Dumps of Sotopia's database: a folder of JSON files, or the Redis server that it runs on.

    AgentProfile, EnvironmentProfile, RelationshipProfile, EpisodeLog

Each is a file (`AgentProfile.json`, a list; or `AgentProfile.jsonl`), or keys such as
`:sotopia.database.persistent_profile.AgentProfile:<pk>`, which redis-om writes as RedisJSON; plain
strings of JSON are read too. What our models have no field for is not read.

The fields have the names of Sotopia's classes, with "pk" for the id. In a goal's text, three tags
mark hints, such as `<extra_info>...</extra_info>`, also one within another. As in Sotopia, a seat
reads nothing of other tags, and nothing meant for another `viewer`.

Sotopia's benchmark is in two more classes: EnvAgentComboStorage has its casts, and EnvironmentList
its hard scenes. `read_benchmark` reads what it plays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from dataenvgym import exact_json
from dataenvgym.domains.social.collection import Origin, Profiles, by_id, parse, read_entries
from dataenvgym.domains.social.profiles import (
    AgeRange,
    Character,
    Filled,
    Relationship,
    RelationshipProfile,
    Scene,
)
from dataenvgym.domains.social.scene_log import SceneLog
from dataenvgym.errors import BrokenFileError, InvalidInstanceError, StoreError
from dataenvgym.events import warn_run
from dataenvgym.records.model import Model, Text
from dataenvgym.records.store import RedisSettings, is_redis_url
from dataenvgym.storage import write_json
from dataenvgym.tasks.scoring.code.syntax import parse_expression

# --- the JSON of one entry ------------------------------------------------------------------------


CHARACTER_NAMES = {name: name for name in Character.model_fields} | {
    "id": "pk",
    "pronouns": "gender_pronoun",
    "public_information": "public_info",
    "personality": "personality_and_values",
    "decision_style": "decision_making_style",
    "personal_values": "schwartz_personal_values",
    "model": "model_id",
}
SCENE_NAMES = {
    "id": "pk",
    **{name: name for name in ("codename", "source", "scenario", "relationship")},
    "goals": "agent_goals",
    "ages": "age_constraint",
    "occupations": "occupation_constraint",
    "casts": "agent_constraint",
}
RELATIONSHIP_NAMES = {
    "id": "pk",
    "characters": "agent_1_id or agent_2_id",
    "relationship": "relationship",
    "story": "background_story",
}
EPISODE_NAMES = {
    "id": "pk",
    "scene": "environment",
    "characters": "agents",
    "tag": "tag",
    "models": "models",
    "turns": "messages",
    "scores": "rewards",
    "reasoning": "reasoning",
    "judge_prompt": "rewards_prompt",
}
_DIMENSIONS = {"financial_and_material": "financial_and_material_benefits"}
_OURS = {theirs: ours for ours, theirs in _DIMENSIONS.items()}
_OVERALL = "overall_score"
_TAG = re.compile(r"<(/?)([A-Za-z]\w*)((?:\s[^<>]*)?)>")
_VIEWER = re.compile(r"viewer\s*=\s*[\"']agent_(\d+)[\"']")
_HINTS = ("extra_info", "clarification_hint", "strategy_hint")
_NO_MARKUP = ("root", "p")  # tags that only say who reads a text
_NOTHING = ("", "nan", "None")  # what Sotopia's texts have in place of a list
_ANY_AGE = (0, 150)
_ANY_AGES = "[(18, 70), (18, 70)]"  # Sotopia's sampler uses it for "no constraint"


def character_from_sotopia(entry: Any, place: str) -> Character:
    """The character in an `AgentProfile`.

    Args:
        place: file and entry, for the error.

    Raises:
        InvalidInstanceError: naming place and field, as in all functions here.
    """
    return parse(Character, _renamed(entry, CHARACTER_NAMES, place), place, names=CHARACTER_NAMES)


def character_to_sotopia(character: Character) -> dict[str, Any]:
    """The `AgentProfile` of a character."""
    values = character.model_dump(mode="json")
    return {theirs: values[ours] for ours, theirs in CHARACTER_NAMES.items()}


def scene_from_sotopia(entry: Any, place: str) -> Scene:
    """The scene in an `EnvironmentProfile`; it has no outcomes that a rule can check."""
    values = _renamed(entry, SCENE_NAMES, place)
    if isinstance(goals := values.get("goals"), list):
        values["goals"] = [_goal(g, i) if isinstance(g, str) else g for i, g in enumerate(goals)]
    values["relationship"] = _relationship(values, place)
    if "ages" in values:
        values["ages"] = _ages(values["ages"], f"{place}, field 'age_constraint'")
    if "occupations" in values:
        where = f"{place}, field 'occupation_constraint'"
        values["occupations"] = _literal(values["occupations"], where) or ()
    return parse(Scene, values, place, names=SCENE_NAMES)


def scene_to_sotopia(scene: Scene) -> dict[str, Any]:
    """The `EnvironmentProfile` of a scene, without motive, subsets and outcomes by rule."""
    ages = [(a.least, a.most) if a else _ANY_AGE for a in scene.ages]
    return {
        "pk": scene.id,
        "codename": scene.codename,
        "source": scene.source,
        "scenario": scene.scenario,
        "agent_goals": [
            " ".join([goal.text, *(f"<{h.kind}>{h.text}</{h.kind}>" for h in goal.hints)])
            for goal in scene.goals
        ],
        "relationship": scene.relationship.number,
        "age_constraint": str(ages) if ages else _ANY_AGES,
        "occupation_constraint": str([list(o) for o in scene.occupations])
        if scene.occupations
        else None,
        "agent_constraint": [list(cast) for cast in scene.casts] or None,
    }


def relationship_from_sotopia(entry: Any, place: str) -> RelationshipProfile:
    """The relationship in a `RelationshipProfile`."""
    values = _renamed(entry, RELATIONSHIP_NAMES, place)
    both = ("agent_1_id", "agent_2_id")
    if lacking := [name for name in both if not isinstance(entry.get(name), str)]:
        raise InvalidInstanceError(f"{place}, field {lacking[0]!r}: expected the pk of a character")
    values["characters"] = [entry[name] for name in both]
    values["relationship"] = _relationship(values, place)
    return parse(RelationshipProfile, values, place, names=RELATIONSHIP_NAMES)


def relationship_to_sotopia(profile: RelationshipProfile) -> dict[str, Any]:
    """The `RelationshipProfile` of a relationship."""
    return {
        "pk": profile.id,
        "agent_1_id": profile.characters[0],
        "agent_2_id": profile.characters[1],
        "relationship": profile.relationship.number,
        "background_story": profile.story or None,
    }


def episode_from_sotopia(entry: Any, place: str) -> SceneLog:
    """The episode in an `EpisodeLog`; a reward that is only a number has no dimensions."""
    values = _renamed(entry, EPISODE_NAMES, place)
    if isinstance(turns := values.get("turns"), list):
        values["turns"] = [
            [_utterance(m, place) for m in turn] if isinstance(turn, list) else turn
            for turn in turns
        ]
    if isinstance(scores := values.get("scores"), list):
        values["scores"] = [_score(reward, place) for reward in scores]
    return parse(SceneLog, values, place, names=EPISODE_NAMES)


def episode_to_sotopia(episode: SceneLog) -> dict[str, Any]:
    """The `EpisodeLog` of an episode.

    Raises:
        InvalidInstanceError: if a seat has no score: Sotopia's format cannot express that.
    """
    scores = episode.scores or (None,) * len(episode.characters)
    rewards = []
    for seat, score in enumerate(scores):
        if score is None:
            raise InvalidInstanceError(
                f"episode {episode.id!r} has no score for seat {seat}, and Sotopia's files cannot "
                "say so: score it again, or leave it out"
            )
        named = {_DIMENSIONS.get(d, d): value for d, value in score.dimensions.items()}
        rewards.append(
            [score.overall, {**named, _OVERALL: score.overall}] if named else score.overall
        )
    return {
        "pk": episode.id,
        "environment": episode.scene,
        "agents": list(episode.characters),
        "tag": episode.tag,
        "models": list(episode.models),
        "messages": [[[u.sender, u.recipient, u.text] for u in turn] for turn in episode.turns],
        "reasoning": episode.reasoning,
        "rewards": rewards,
        "rewards_prompt": episode.judge_prompt,
    }


CLASSES: Mapping[str, tuple[Callable[[Any, str], Any], Callable[[Any], dict[str, Any]]]] = {
    "AgentProfile": (character_from_sotopia, character_to_sotopia),
    "EnvironmentProfile": (scene_from_sotopia, scene_to_sotopia),
    "RelationshipProfile": (relationship_from_sotopia, relationship_to_sotopia),
    "EpisodeLog": (episode_from_sotopia, episode_to_sotopia),
}
"""How each of Sotopia's classes is read (of an entry and its place) and written."""


def _renamed(entry: Any, names: Mapping[str, str], place: str) -> dict[str, Any]:
    """The values of the existing fields, under our names."""
    if not isinstance(entry, dict):
        raise InvalidInstanceError(f"{place} is a {type(entry).__name__}, expected a JSON object")
    return {ours: entry[n] for ours, n in names.items() if entry.get(n) is not None}


def _relationship(values: Mapping[str, Any], place: str) -> Relationship:
    by_number = {relationship.number: relationship for relationship in Relationship}
    number = values.get("relationship", 0)
    if type(number) is not int or number not in by_number:
        names = ", ".join(f"{n} ({r.value})" for n, r in by_number.items())
        raise InvalidInstanceError(
            f"{place}, field 'relationship': there is no relationship {number!r}, only {names}"
        )
    return by_number[number]


def _goal(text: str, seat: int) -> dict[str, Any]:
    """The fields of a goal; a text that only has hints becomes the goal itself."""
    parts: list[tuple[str, list[str]]] = [("", [])]  # kind and pieces: the goal, then the hints
    tags: list[tuple[str, int | None]] = [("", 0)]  # the open ones, and the part that each fills
    end = 0

    def read(piece: str) -> None:
        if (into := tags[-1][1]) is not None:
            parts[into][1].append(piece)

    for tag in _TAG.finditer(text):
        read(text[end : tag.start()])
        end = tag.end()
        closes, name, attributes = tag.groups()
        if closes:
            at = max((i for i, (one, _) in enumerate(tags) if one == name), default=len(tags))
            del tags[at:]
        elif not attributes.rstrip().endswith("/"):
            into, viewer = tags[-1][1], _VIEWER.search(attributes)
            if name in _HINTS and into is not None:
                parts.append((name, []))
                into = len(parts) - 1
            is_read = name in (*_HINTS, *_NO_MARKUP) and (not viewer or int(viewer[1]) == seat)
            tags.append((name, into if is_read else None))
    if not end:
        return {"text": text}
    read(text[end:])
    (_, goal), *hints = (
        (kind, " ".join(" ".join(pieces).split()).replace("( )", "").strip())
        for kind, pieces in parts
    )
    if not goal:
        return {"text": " ".join(hint for _, hint in hints if hint)}
    return {"text": goal, "hints": [{"kind": kind, "text": hint} for kind, hint in hints if hint]}


def _ages(value: Any, place: str) -> tuple[AgeRange | None, ...]:
    if value == _ANY_AGES:
        return ()
    pairs = _literal(value, place) or ()
    try:
        return tuple(
            None if tuple(pair) == _ANY_AGE else AgeRange(least=pair[0], most=pair[1])
            for pair in pairs
        )
    except (TypeError, IndexError, ValueError) as error:
        raise InvalidInstanceError(
            f"{place}: got {value!r:.80}, expected such as '[(18, 70), (18, 70)]' ({error})"
        ) from error


def _literal(value: Any, place: str) -> Any:
    """A list that Sotopia wrote as Python text; None if it says that there is none."""
    if not isinstance(value, str):
        return value
    try:
        if value.strip() in _NOTHING:
            return None
        return ast.literal_eval(parse_expression(value.lstrip(" \t")))
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise InvalidInstanceError(f"{place}: got {value!r:.80}, expected a list") from error


def _utterance(message: Any, place: str) -> dict[str, Any]:
    if not (isinstance(message, list | tuple) and len(message) == 3):
        raise InvalidInstanceError(
            f"{place}, field 'messages': got {message!r:.80}, expected [sender, receiver, text]"
        )
    return dict(zip(("sender", "recipient", "text"), message, strict=True))


def _score(reward: Any, place: str) -> dict[str, Any]:
    if isinstance(reward, int | float):
        return {"overall": reward}
    if not (isinstance(reward, list | tuple) and len(reward) == 2 and isinstance(reward[1], dict)):
        raise InvalidInstanceError(
            f"{place}, field 'rewards': got {reward!r:.80}, expected [overall, {{name: value}}]"
        )
    overall, values = reward
    named = {_OURS.get(name, name): v for name, v in values.items() if name != _OVERALL}
    return {"overall": overall, "dimensions": named}


# --- a dump ---------------------------------------------------------------------------------------


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
    characters, scenes, ties, episodes = (_of_class(name, entries) for name in CLASSES)
    profiles = Profiles(characters, scenes, ties, _origin(characters, where))
    return SotopiaDump(profiles, tuple(episodes.values()))


def _of_class(name: str, entries: _Entries) -> dict[str, Any]:
    """What the entries of one of `CLASSES` say, by id."""
    read, _ = CLASSES[name]
    return by_id([(place, read(entry, place)) for place, entry in entries(name)], field="pk")


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
    characters, scenes, ties = (_of_class(name, entries) for name in [*CLASSES][:3])
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
