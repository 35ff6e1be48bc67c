"""Sotopia's JSON: profiles and episodes read and written with the field names of its database.

The names are those of Sotopia's `AgentProfile`, `EnvironmentProfile`, `RelationshipProfile` and
`EpisodeLog`, with "pk" for the id.

In a goal's text, three tags mark hints, such as `<extra_info>...</extra_info>`, also one within
another. As in Sotopia, a seat reads nothing of other tags, and nothing meant for another `viewer`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from dataenvgym.domains.social.collection import parse
from dataenvgym.domains.social.profiles import (
    AgeRange,
    Character,
    Relationship,
    RelationshipProfile,
    Scene,
)
from dataenvgym.domains.social.scene_log import SceneLog
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.tasks.scoring.code.syntax import parse_expression

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
