"""Scores a character's behavior in a scene in seven dimensions.

The dimensions and their ranges are those of Sotopia (Zhou et al., 2024, "SOTOPIA: Interactive
Evaluation for Social Intelligence in Language Agents"). A scene may score some of them by rule;
judges score the others. `overall` is the mean of all seven and exists only if all seven do: a judge
that failed gives no score, never 0.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum
from typing import Any

from pydantic import Field, create_model

from dataenvgym.errors import EvaluationError, check_one_of
from dataenvgym.interfaces import Ask, Reply
from dataenvgym.records import Model
from dataenvgym.records.model import Text
from dataenvgym.tasks.judging import panel_ask, question


@dataclass(frozen=True)
class Dimension:
    """One way to score a character: from `low` to `high`, by the question in `asks`."""

    low: int
    high: int
    asks: str


DIMENSIONS: Mapping[str, Dimension] = {
    "believability": Dimension(
        0, 10, "Does the character act as a person would, and as this one would by its profile?"
    ),
    "relationship": Dimension(
        -5, 5, "Does what happens harm or improve its relationships and its standing with others?"
    ),
    "knowledge": Dimension(
        0, 10, "Does the character learn something that is new to it and matters?"
    ),
    "secret": Dimension(
        -10, 0, "Does it give away what it has to hide? 0 if it hides it, or has nothing to hide."
    ),
    "social_rules": Dimension(-10, 0, "Does it break laws or social norms? 0 if it breaks none."),
    "financial_and_material": Dimension(
        -5, 5, "Does it gain or lose money or things, now or in the long run?"
    ),
    "goal": Dimension(0, 10, "How far does it reach its goal?"),
}
"""By name, in the order of scoring."""


class DimensionVerdict(Model):
    """A judge's reasons for a score, and the score."""

    reason: Text
    score: int


@dataclass(frozen=True)
class JudgedCharacter:
    """The verdicts of judges on a character.

    Attributes:
        scores: of each judged dimension; empty if too few judges gave a verdict.
        by_judge, reasons: of each dimension, the score and the reason of each judge.
        unscored: for judges without a verdict, the reason.
    """

    scores: Mapping[str, float]
    by_judge: Mapping[str, Mapping[str, float]]
    reasons: Mapping[str, Mapping[str, str]]
    unscored: Mapping[str, str]


def judge_character(
    *,
    who: str,
    profile: str,
    scene: str,
    dialogue: str,
    others: str = "",
    dimensions: Collection[str] = tuple(DIMENSIONS),
    judges: Sequence[str] = ("judge",),
    min_judges: int = 1,
    **asking: Any,
) -> Generator[Ask, Reply, JudgedCharacter]:
    """Ask judges to score a character: `yield from` it in a task environment.

    Args:
        who: its name.
        profile: all true facts about it, as text.
        scene: the situation, and how the characters know each other.
        dialogue: the words and actions (see `judging.dialogue_text`).
        others: all true facts about the other characters.
        judges: the names of the speakers to ask.
        min_judges: see `judging.combine`; the mean of the judges counts.
        asking: further arguments of `judge_ask`.

    Raises:
        ConfigurationError: for a dimension that does not exist.
    """
    names = tuple(in_order(dimensions))
    asks = "\n".join(
        f"- {n} ({DIMENSIONS[n].low} to {DIMENSIONS[n].high}): {DIMENSIONS[n].asks}" for n in names
    )
    verdict = dimensions_verdict(names)
    texts = {"profile": profile, "others": others, "scene": scene, "dialogue": dialogue}
    values = {"who": who, "dimensions": asks}
    asked = question("social_dimensions", verdict, data=texts, values=values)
    judged = yield from panel_ask(asked, verdict, who=judges, **asking)
    given = {n: {judge: getattr(v, n) for judge, v in judged.verdicts.items()} for n in names}
    scores = {n: judged.score(f"{n}.score", "mean", min_judges=min_judges) for n in names}
    return JudgedCharacter(
        {name: score for name, score in scores.items() if score is not None},
        {n: {judge: float(one.score) for judge, one in of.items()} for n, of in given.items()},
        {n: {judge: one.reason for judge, one in of.items()} for n, of in given.items()},
        judged.unscored,
    )


def overall(scores: Mapping[str, float]) -> float | None:
    """The mean of the seven dimensions; None if one of them has no score.

    Raises:
        EvaluationError: for a score outside its range.
        ConfigurationError: for a dimension that does not exist.
    """
    for name in in_order(scores):
        low, high = DIMENSIONS[name].low, DIMENSIONS[name].high
        if not low <= scores[name] <= high:
            raise EvaluationError(
                f"the score of {name!r} is {scores[name]}, expected {low} to {high}"
            )
    if scores.keys() != DIMENSIONS.keys():
        return None
    return fsum(scores.values()) / len(DIMENSIONS)


@cache
def dimensions_verdict(names: tuple[str, ...]) -> type[Model]:
    """A verdict with a `DimensionVerdict` within its range for each of these dimensions."""
    fields: dict[str, Any] = {}
    for name in names:
        score: Any = (int, Field(ge=DIMENSIONS[name].low, le=DIMENSIONS[name].high))
        title = name.title().replace("_", "")
        fields[name] = create_model(title, __base__=DimensionVerdict, score=score), ...
    return create_model("SocialVerdict", __base__=Model, **fields)


def in_order(names: Collection[str]) -> list[str]:
    """The names of dimensions, in our order.

    Raises:
        ConfigurationError: for a dimension that does not exist.
    """
    for name in names:
        check_one_of(DIMENSIONS, dimensions=name)
    return [name for name in DIMENSIONS if name in names]
