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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import NonNegativeInt, TypeAdapter, ValidationError, model_validator
from pydantic_core import to_jsonable_python

from dataenvgym import exact_json
from dataenvgym.domains.social.collection import Profiles, by_id
from dataenvgym.domains.social.profiles import (
    AgeRange,
    Character,
    Filled,
    Relationship,
    RelationshipProfile,
    Scene,
)
from dataenvgym.domains.social.scene_log import SceneLog, SeatScore
from dataenvgym.errors import BrokenFileError, InvalidInstanceError, StoreError, first_fault
from dataenvgym.events import warn_run
from dataenvgym.records.model import Model, Text
from dataenvgym.records.store import RedisSettings, is_redis_url
from dataenvgym.storage import write_json
from dataenvgym.tasks.rows import parsed, read_rows
from dataenvgym.tasks.scoring.code.syntax import parse_expression

# --- the JSON of one entry ------------------------------------------------------------------------


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
_NUMBERS = dict(enumerate(Relationship))
_LINE = ("sender", "recipient", "text")
_PAIR = ("agent_1_id", "agent_2_id")
_ODD = (LookupError, TypeError, ValueError, AttributeError, SyntaxError)
_object = TypeAdapter(dict[str, Any]).validate_python
_listed = TypeAdapter(list[Any]).validate_python


def _literal(value: Any) -> Any:
    """A list that Sotopia wrote as Python text; empty if it says that there is none."""
    if not isinstance(value, str):
        return value
    return () if value.strip() in _NOTHING else ast.literal_eval(parse_expression(value.lstrip()))


def _ages(value: Any) -> tuple[AgeRange | None, ...]:
    pairs = () if value == _ANY_AGES else _literal(value)
    return tuple(
        None if tuple(pair) == _ANY_AGE else AgeRange(least=pair[0], most=pair[1]) for pair in pairs
    )


def _score(reward: Any) -> dict[str, Any]:
    """A reward that is only a number has no dimensions."""
    if isinstance(reward, int | float):
        return {"overall": reward}
    overall, values = reward
    named = {_OURS.get(name, name): v for name, v in values.items() if name != _OVERALL}
    return {"overall": overall, "dimensions": named}


def _reward(score: SeatScore | None) -> float | list[Any]:
    if score is None:
        raise InvalidInstanceError(
            "a seat of an episode has no score, and Sotopia's files cannot say so: score it again, "
            "or leave it out"
        )
    named = {_DIMENSIONS.get(d, d): value for d, value in score.dimensions.items()}
    return [score.overall, {**named, _OVERALL: score.overall}] if named else score.overall


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


class _Field(NamedTuple):
    """A field of one of Sotopia's classes: its name there, and how its values are converted."""

    theirs: str
    reads: Callable[[Any], Any] = lambda value: value
    writes: Callable[[Any], Any] = to_jsonable_python


_RELATIONSHIP = _Field("relationship", _NUMBERS.__getitem__, lambda one: one.number)
_AGENT = {
    "id": "pk",
    "pronouns": "gender_pronoun",
    "public_information": "public_info",
    "personality": "personality_and_values",
    "decision_style": "decision_making_style",
    "personal_values": "schwartz_personal_values",
    "model": "model_id",
}


class SotopiaClass(NamedTuple):
    """One of Sotopia's classes, by the fields of our model; others are neither read nor written."""

    model: type[Any]
    fields: Mapping[str, _Field]

    def read(self, entry: Any, place: str) -> Any:
        """The profile or episode in an entry; InvalidInstanceError names place and field."""
        if self.model is RelationshipProfile:
            entry = {**entry, "agents": [entry.get(name) for name in _PAIR]}
        values = {}
        for ours, field in self.fields.items():
            if (value := entry.get(field.theirs)) is None:
                continue
            try:
                values[ours] = field.reads(value)
            except (*_ODD, RecursionError, MemoryError) as error:
                raise InvalidInstanceError(
                    f"{place}, {field.theirs} is {value!r:.80}, which is not in Sotopia's form: "
                    f"{type(error).__name__}: {error}"
                ) from error
        try:
            return self.model.model_validate(values)
        except ValidationError as error:
            top = str(next(iter(error.errors()[0]["loc"]), ""))
            theirs = self.fields[top].theirs if top in self.fields else top
            fault = first_fault(error, theirs, skip=1)
            raise InvalidInstanceError(f"{place}, {fault}") from error

    def write(self, profile: Any) -> dict[str, Any]:
        """The entry of a profile or an episode; InvalidInstanceError if a seat has no score."""
        entry = {f.theirs: f.writes(getattr(profile, ours)) for ours, f in self.fields.items()}
        if self.model is RelationshipProfile:
            entry |= dict(zip(_PAIR, entry.pop("agents"), strict=True))
        return entry


CLASSES: Mapping[str, SotopiaClass] = {
    "AgentProfile": SotopiaClass(
        Character, {name: _Field(_AGENT.get(name, name)) for name in Character.model_fields}
    ),
    "EnvironmentProfile": SotopiaClass(
        Scene,
        {
            "id": _Field("pk"),
            **{name: _Field(name) for name in ("codename", "source", "scenario")},
            "relationship": _RELATIONSHIP,
            "goals": _Field(
                "agent_goals",
                lambda goals: [_goal(goal, seat) for seat, goal in enumerate(_listed(goals))],
                lambda goals: [
                    " ".join([goal.text, *(f"<{h.kind}>{h.text}</{h.kind}>" for h in goal.hints)])
                    for goal in goals
                ],
            ),
            "ages": _Field(
                "age_constraint",
                _ages,
                lambda ages: (
                    str([(a.least, a.most) if a else _ANY_AGE for a in ages]) if ages else _ANY_AGES
                ),
            ),
            "occupations": _Field(
                "occupation_constraint",
                _literal,
                lambda seats: str([list(seat) for seat in seats]) if seats else None,
            ),
            "casts": _Field("agent_constraint", writes=lambda casts: list(casts) or None),
        },
    ),
    "RelationshipProfile": SotopiaClass(
        RelationshipProfile,
        {
            "id": _Field("pk"),
            "characters": _Field("agents"),
            "relationship": _RELATIONSHIP,
            "story": _Field("background_story", writes=lambda story: story or None),
        },
    ),
    "EpisodeLog": SotopiaClass(
        SceneLog,
        {
            "id": _Field("pk"),
            "scene": _Field("environment"),
            "characters": _Field("agents"),
            **{name: _Field(name) for name in ("tag", "models", "reasoning")},
            "turns": _Field(
                "messages",
                lambda turns: [
                    [dict(zip(_LINE, line, strict=True)) for line in turn]
                    for turn in map(_listed, _listed(turns))
                ],
                lambda turns: [[[u.sender, u.recipient, u.text] for u in turn] for turn in turns],
            ),
            "scores": _Field(
                "rewards",
                lambda rewards: [*map(_score, _listed(rewards))],
                lambda scores: [*map(_reward, scores or (None,))],
            ),
            "judge_prompt": _Field("rewards_prompt"),
        },
    ),
}


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
    agent_index: tuple[NonNegativeInt, ...] | None = None

    @model_validator(mode="after")
    def _has_a_seat_for_each(self) -> Self:
        if self.agent_index is not None and len(self.agent_index) != len(self.environments):
            raise ValueError(
                f"{len(self.agent_index)} agent_index for {len(self.environments)} environments"
            )
        return self


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
    profiles = Profiles(characters, scenes, ties, _files(characters, where))
    return SotopiaDump(profiles, tuple(episodes.values()))


def _of_class(name: str, entries: _Entries) -> dict[str, Any]:
    """What the entries of one of `CLASSES` say, by id."""
    read = CLASSES[name].read
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
        combo = parsed(_Combo, entry, place)
        casts.setdefault(combo.env_id, []).append(combo.agent_ids)
    subsets: dict[str, list[str]] = {}
    listed: dict[str, dict[str, tuple[int, ...]]] = {}
    for place, entry in entries("EnvironmentList"):
        of = parsed(_SceneList, entry, place)
        name = "hard" if of.pk == HARD_LIST else of.name or of.pk
        for scene in of.environments:
            subsets.setdefault(scene, []).append(name)
        if of.agent_index is not None:
            for scene, seat in zip(of.environments, of.agent_index, strict=True):
                if scene in scenes and seat >= scenes[scene].seats:
                    raise InvalidInstanceError(
                        f"{place}, agent_index: found {seat} for {scene!r}, which has "
                        f"{scenes[scene].seats} seats"
                    )
                seats = listed.setdefault(name, {}).get(scene, ())
                listed[name][scene] = tuple(dict.fromkeys([*seats, seat]))
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
    return Profiles(characters, played, ties, _files(characters, where), listed)


def _entries_at(where: str | Path) -> tuple[str | Path, _Entries]:
    """The place, for messages, and the entries of a class there."""
    if is_redis_url(str(where)):
        settings = RedisSettings(str(where))
        return settings.place, partial(_in_redis, settings.connected(), settings.place)
    return where, partial(_in_files, Path(where).expanduser())


def _files(characters: Mapping[str, Any], where: str | Path) -> dict[str, str]:
    """The place of each kind of profile, for messages."""
    if not characters:
        raise InvalidInstanceError(
            f"{where} holds no AgentProfile: expected AgentProfile.json or .jsonl in a folder, or "
            "keys ':sotopia.database.persistent_profile.AgentProfile:<pk>' in Redis"
        )
    kinds = zip(("characters", "scenes", "relationships"), CLASSES, strict=False)
    return {kind: f"{name} in {where}" for kind, name in kinds}


def write_sotopia(folder: str | Path, dump: SotopiaDump) -> None:
    """Write the four files of a dump, as JSON lists of what our models hold.

    Raises:
        InvalidInstanceError: if a seat of an episode has no score.
    """
    of = dump.profiles
    contents: list[Iterable[Any]] = [
        *(kind.values() for kind in (of.characters, of.scenes, of.relationships)),
        dump.episodes,
    ]
    files = {
        name: [*map(CLASSES[name].write, profiles)]
        for name, profiles in zip(CLASSES, contents, strict=True)
    }
    for name, entries in files.items():  # once all of them can be written
        write_json(Path(folder).expanduser() / f"{name}.json", entries)


def _in_files(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    for path in (folder / f"{name}.json", folder / f"{name}.jsonl"):
        if path.exists():
            yield from ((row.where, row.values) for row in read_rows(path))


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
                entry = _object(exact_json.loads(value or b"null"))
            except ValueError as error:
                raise BrokenFileError(f"{where} is damaged: {error}") from error
            yield where, {"pk": key.rpartition(":")[2], **entry}
    except (RedisError, OSError) as error:
        raise StoreError(
            f"the dump at {place} cannot be read: {error}. Start that Redis server; "
            "one with RedisJSON (Redis Stack, Redis 8) for keys that redis-om wrote"
        ) from error
