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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from dataenvgym.domains.orchestrate.preferences import (
    ACCURACY,
    COST,
    DOLLARS_SCALE,
    LATENCY,
    SECONDS_SCALE,
    Preference,
)
from dataenvgym.errors import ConfigurationError, check_one_of

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
    check_one_of(get_args(RewardName), reward=kind)
    if kind == "outcome":
        return [float(one.is_solved) for one in group]
    if kind == "efficiency":
        found = [efficiency(one) for one in group]
        if None in found:
            raise _unknown(
                "efficiency", "cost" if group[found.index(None)].cost is None else "time"
            )
        return [value for value in found if value is not None]
    if preference is None:
        raise ConfigurationError(
            "the reward is 'preference', and a problem has none: add a field `preference` to the "
            "rows, or set task.preference={accuracy: 1, cost: 0.5}"
        )
    totals = [0.0] * len(group)
    for name, weight in preference.weights.items():
        if not weight:
            continue
        column = [_element(name, one) for one in group]
        if any(value is None for value in column):
            raise _unknown("preference", "cost" if name == COST else "time")
        for i, value in enumerate(normalized([value or 0.0 for value in column])):
            totals[i] += weight * value
    return [total * one.is_solved for total, one in zip(totals, group, strict=True)]


def _element(name: str, one: Try) -> float | None:
    if name == ACCURACY:
        return float(one.is_solved)
    if name == COST:
        return None if one.cost is None else -one.cost
    if name == LATENCY:
        return None if one.seconds is None else -one.seconds
    return float(one.calls.get(name, 0))


def _unknown(kind: str, what: str) -> ConfigurationError:
    options = "price" if what == "cost" else "seconds"
    return ConfigurationError(
        f"the reward is {kind!r}, and the {what} of a try is unknown: set "
        f"task.tiers.NAME.{options} of each tier, or use agent.engine.reward=outcome"
    )


def normalized(values: Sequence[float]) -> list[float]:
    """The values from 0 (smallest) to 1 (largest); all 0 if they are equal."""
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.0 for value in values]
