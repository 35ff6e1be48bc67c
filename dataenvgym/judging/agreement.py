"""Krippendorff's alpha: how much several judges agree, beyond chance.

Source: K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011). 1 is perfect
agreement, 0 agreement by chance, below 0 systematic disagreement. Judges may leave out units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import permutations
from math import fsum
from typing import Literal

Level = Literal["nominal", "ordinal", "interval"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")
Value = float | str | bool
Distance = Callable[[Value, Value], float]


def krippendorff_alpha(
    units: Sequence[Sequence[Value | None]], level: Level = "interval"
) -> float | None:
    """1 - observed / expected disagreement.

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


def _distance(level: Level, totals: dict[Value, float]) -> Distance:
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
