"""Combines the verdicts of several judges on one item; a missing verdict is never 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Generic, Literal, get_args

from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError
from dataenvgym.judging.agreement import Level, Value, krippendorff_alpha
from dataenvgym.judging.verdicts import VerdictT

Aggregation = Literal["mean", "majority"]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)


@dataclass(frozen=True)
class Judged(Generic[VerdictT]):
    """The judges' verdicts on one item.

    Attributes:
        verdicts: by judge.
        unscored: why the other judges gave no verdict.
    """

    verdicts: Mapping[str, VerdictT] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)

    def score(self, name: str, how: Aggregation = "mean", *, min_judges: int = 1) -> float | None:
        """That field of the verdicts as one number, combined by `combine`."""
        values = [float(value_of(v, name)) for v in self.verdicts.values()]
        return combine(values, how, min_judges=min_judges)


def combine(
    values: Sequence[float], how: Aggregation = "mean", *, min_judges: int = 1
) -> float | None:
    """The scores of several judges as one; None if fewer than `min_judges` gave one.

    "mean" is the arithmetic mean. "majority" is the score that more judges gave than any other
    score; if several are equally frequent, there is none.

    Raises:
        ConfigurationError: for another aggregation.
    """
    if how not in AGGREGATIONS:
        ways = ", ".join(AGGREGATIONS)
        raise ConfigurationError(f"aggregation is {how!r}, expected one of {ways}")
    if len(values) < max(1, min_judges):
        return None
    if how == "mean":
        return fsum(values) / len(values)
    (value, votes), *others = Counter(values).most_common(2)
    return None if any(n == votes for _, n in others) else value


def agreement(judged: Sequence[Judged[VerdictT]], name: str, level: Level) -> float | None:
    """Krippendorff's alpha of that field; None if it is undefined."""
    judges = sorted({judge for one in judged for judge in one.verdicts})
    units: list[list[Value | None]] = [
        [value_of(one.verdicts[j], name) if j in one.verdicts else None for j in judges]
        for one in judged
    ]
    return krippendorff_alpha(units, level)


def value_of(verdict: BaseModel, name: str) -> Value:
    """The value of a field; "goal.score" is a field of a model within the verdict."""
    value: Value = verdict  # type: ignore[assignment]
    for part in name.split("."):
        value = getattr(value, part)
    return value
