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

from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import Literal, cast

from dataenvgym.domains.orchestrate.calls import Account
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


Try = tuple[bool, Account]
"""Whether a try solved the problem, and what it took."""


def efficiency(is_solved: bool, spent: Account) -> float | None:
    """The efficiency reward; None if the cost or time of a solved problem is unknown."""
    if not is_solved:
        return 0.0
    if spent.cost is None or spent.seconds is None:
        return None
    return 1 - min(MOST_LOST, DOLLARS_SCALE * spent.cost + SECONDS_SCALE * spent.seconds)


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
        return [float(is_solved) for is_solved, _ in group]
    if kind == "efficiency":
        return _known(kind, "cost or time", starmap(efficiency, group))
    if preference is None:
        raise ConfigurationError(
            "the reward is 'preference', and a problem has none: add a field `preference` to the "
            "rows, or set task.preference={accuracy: 1, cost: 0.5}"
        )
    totals = [0.0] * len(group)
    for name, weight in preference.weights.items():
        if not weight:
            continue
        column = _known(kind, name, (_element(name, *one) for one in group))
        for i, value in enumerate(normalized(column)):
            totals[i] += weight * value
    return [total * is_solved for total, (is_solved, _) in zip(totals, group, strict=True)]


def _element(name: str, is_solved: bool, spent: Account) -> float | None:
    if name in (COST, LATENCY):
        amount = spent.cost if name == COST else spent.seconds
        return None if amount is None else -amount
    return float(is_solved if name == ACCURACY else spent.calls.get(name, 0))


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
