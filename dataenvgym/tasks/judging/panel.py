"""Several judges: their verdicts on one item as one score, and how much they agree.

A missing verdict is never 0. The agreement is Krippendorff's alpha (K. Krippendorff, "Computing
Krippendorff's Alpha-Reliability", 2011): 1 is perfect agreement, 0 agreement by chance, below 0
systematic disagreement. Judges may leave out units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import fsum
from typing import Generic, Literal

from pydantic import BaseModel

from dataenvgym.records.usage import NOTHING, Usage
from dataenvgym.tasks.judging.verdicts import VerdictT

Aggregation = Literal["mean", "majority"]
Level = Literal["nominal", "ordinal", "interval"]
Value = float | str | bool


@dataclass(frozen=True)
class Judged(Generic[VerdictT]):
    """The judges' verdicts on one item.

    Attributes:
        verdicts: by judge.
        unscored: why the other judges gave no verdict.
        usage: of the replies of all judges, where `Judge` asked them.
    """

    verdicts: Mapping[str, VerdictT] = field(default_factory=dict)
    unscored: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = NOTHING

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
    """
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


def krippendorff_alpha(
    units: Sequence[Sequence[Value | None]], level: Level = "interval"
) -> float | None:
    """Krippendorff's alpha: 1 - observed / expected disagreement.

    Args:
        units: for each judged item, the judges' values; None for a judge without one.
        level: of the values. "nominal": equal or not; "ordinal": their ranks; "interval": the
            squared difference. The last two need numbers.

    Returns:
        None if it is undefined: if no unit has two values, or all values are the same.
    """
    coincidences: Counter[tuple[Value, Value]] = Counter()
    for unit in units:
        values = [value for value in unit if value is not None]
        for pair in permutations(values, 2):
            coincidences[pair] += 1 / (len(values) - 1)  # type: ignore[assignment]
    totals: dict[Value, float] = {}
    for (value, _), weight in coincidences.items():
        totals[value] = totals.get(value, 0.0) + weight
    distance = _distance(level, totals)
    n = fsum(totals.values())
    observed = fsum(weight * distance(*pair) for pair, weight in coincidences.items())
    expected = fsum(
        totals[one] * totals[other] * distance(one, other) for one in totals for other in totals
    )
    return None if expected == 0.0 else 1.0 - (n - 1.0) * observed / expected


def _distance(level: Level, totals: dict[Value, float]) -> Callable[[Value, Value], float]:
    if level == "nominal":
        return lambda one, other: float(one != other)
    if level == "interval":
        return lambda one, other: (float(one) - float(other)) ** 2
    place: dict[Value, float] = {}  # of the middle of each rank
    below = 0.0
    for value in sorted(totals, key=float):
        place[value] = below + totals[value] / 2
        below += totals[value]
    return lambda one, other: (place[one] - place[other]) ** 2
