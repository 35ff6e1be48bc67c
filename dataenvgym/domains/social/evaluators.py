"""Scores a character's behavior in a scene in seven dimensions.

The dimensions and their ranges are those of Sotopia (Zhou et al., 2024, "SOTOPIA: Interactive
Evaluation for Social Intelligence in Language Agents"). A scene may score some of them by rule;
judges score the others. `overall` is the mean of all seven and exists only if all seven do: a judge
that failed gives no score, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import fsum
from typing import Any, Literal

from pydantic import Field, create_model

from dataenvgym.records import Model
from dataenvgym.records.model import Text


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
DimensionName = Literal[
    "believability",
    "relationship",
    "knowledge",
    "secret",
    "social_rules",
    "financial_and_material",
    "goal",
]


class DimensionVerdict(Model):
    """A judge's reasons for a score, and the score."""

    reason: Text
    score: int


Given = Mapping[str, Mapping[str, tuple[float, str]]]
"""By judge and dimension, the score and the reason."""


def overall(scores: Mapping[str, float]) -> float | None:
    """The mean of the seven dimensions; None if one of them has no score."""
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
