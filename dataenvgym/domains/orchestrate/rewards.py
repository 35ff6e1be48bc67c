"""Rewards of a group of tries at one problem, and their advantages (ToolOrchestra).

    outcome      1 if solved, else 0
    efficiency   1 - min(0.8, 5 x dollars + seconds / 500) if solved, else 0
    preference   M . P if solved, else 0: P are the user's weights, and M has the calls of each
                 tool, the outcome, minus the cost and minus the time, each min-max normalized over
                 the whole group (0 where all are equal)

Rewards become advantages by `tasks.turn_scores`; ToolOrchestra clips them to 3, and trains on
groups of 3 or more with a deviation above 0.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from dataenvgym.domains.orchestrate.preferences import (
    ACCURACY,
    COST,
    DOLLARS_SCALE,
    LATENCY,
    SECONDS_SCALE,
    Preference,
)
from dataenvgym.errors import ConfigurationError

RewardName = Literal["outcome", "efficiency", "preference"]
MOST_LOST = 0.8
CLIP = 3.0
LEAST_GROUP = 3
LEAST_DEVIATION = 0.1


@dataclass(frozen=True)
class Try:
    """One try, as far as rewards depend on it.

    Attributes:
        cost, seconds: None if unknown.
        calls: by tool and by tier.
    """

    is_solved: bool
    cost: float | None
    seconds: float | None
    calls: Mapping[str, int] = field(default_factory=dict)


def efficiency(one: Try) -> float | None:
    """The efficiency reward; None if the cost or time of a solved problem is unknown."""
    if not one.is_solved:
        return 0.0
    if one.cost is None or one.seconds is None:
        return None
    return 1 - min(MOST_LOST, DOLLARS_SCALE * one.cost + SECONDS_SCALE * one.seconds)


def rewards(
    kind: RewardName, group: Sequence[Try], preference: Preference | None = None
) -> list[float]:
    """The reward of each try at one problem.

    Args:
        preference: of the user; only for the reward of that name.

    Raises:
        ConfigurationError: if the reward depends on a cost or time that is unknown, or on a
            preference that the problem does not have.
    """
    if kind == "outcome":
        return [float(one.is_solved) for one in group]
    if kind == "efficiency":
        return _known(kind, "cost or time", map(efficiency, group))
    if preference is None:
        raise ConfigurationError(
            "the reward is 'preference', and a problem has none: add a field `preference` to the "
            "rows, or set task.preference={accuracy: 1, cost: 0.5}"
        )
    totals = [0.0] * len(group)
    for name, weight in preference.weights.items():
        if not weight:
            continue
        column = _known(kind, name, (_element(name, one) for one in group))
        for i, value in enumerate(normalized(column)):
            totals[i] += weight * value
    return [total * one.is_solved for total, one in zip(totals, group, strict=True)]


def _element(name: str, one: Try) -> float | None:
    if name in (COST, LATENCY):
        spent = one.cost if name == COST else one.seconds
        return None if spent is None else -spent
    return float(one.is_solved if name == ACCURACY else one.calls.get(name, 0))


def _known(kind: str, what: str, values: Iterable[float | None]) -> list[float]:
    known = [*values]
    if None in known:
        raise ConfigurationError(
            f"the reward is {kind!r}, and the {what} of a try is unknown: set task.tiers.NAME."
            "price and .seconds, or use agent.engine.reward=outcome"
        )
    return cast(list[float], known)


def normalized(values: Sequence[float]) -> list[float]:
    """The values from 0 (smallest) to 1 (largest); all 0 if they are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
