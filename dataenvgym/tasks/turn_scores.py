"""Weights for the turns of a dialogue: from a judge's verdict (EPO, Liu et al. 2025), or a group.

The verdict says which turns were critical for achieving the goal, and how the dialogue ended.

    scores            a turn that the judge names scores 1.0, even if it is the last; otherwise
                      the last turn gets the final score; all others get 0
    discounted        the return of a turn is its score plus the discounted return of the next
    normalized        divided by the largest absolute value of a group of dialogues (of one scene,
                      say; the default), of the dialogue (EPO), by the sample standard deviation
                      of the group's last scores (GRPO), or not at all

If each dialogue is normalized by itself, one that ended badly gets the same weights as one that
ended well when the judge named no turn in either; normalization by group tells them apart.

If the mean of the group is subtracted from each final score, nothing is named, and the discount is
1, then normalization by deviation gives each turn the advantage of its dialogue (`advantages`), as
in GRPO (Shao et al. 2024) and verl.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from statistics import fmean, stdev
from typing import Literal

Normalization = Literal["dialogue", "group", "deviation", "none"]

NAMED = 1.0
"""The score of a turn that the judge names."""
DISCOUNT = 0.99
NORMALIZATION: Normalization = "group"


def turn_weights(
    dialogues: Sequence[Sequence[float]],
    *,
    discount: float = DISCOUNT,
    normalize: Normalization = NORMALIZATION,
) -> list[tuple[float, ...]]:
    """The weights of the turns of each dialogue, from their scores (see `turn_scores`).

    Args:
        dialogues: of one group.
        normalize: the divisor of returns; if it is zero, they stay zero.
    """
    returns: list[list[float]] = []
    for scores in dialogues:
        value, values = 0.0, []
        for score in reversed(scores):
            value = score + discount * value
            values.append(value)
        returns.append(values[::-1])
    sizes = [max(map(abs, values), default=0.0) for values in returns]
    if normalize == "group":
        sizes = [max(sizes, default=0.0)] * len(sizes)
    elif normalize == "none":
        sizes = [1.0] * len(sizes)
    elif normalize == "deviation":
        sizes = [_deviation([scores[-1] for scores in dialogues if scores])] * len(sizes)
    return [
        tuple(value / size if size else 0.0 for value in values)
        for values, size in zip(returns, sizes, strict=True)
    ]


def turn_scores(n_turns: int, named: Collection[int], final: float) -> tuple[float, ...]:
    """The score of each turn of one seat.

    Args:
        named: positions of the named turns, from 0.
        final: how the dialogue ended, in -1..1 (Sotopia's goal score divided by 10).
    """
    scores = [NAMED if i in named else 0.0 for i in range(n_turns)]
    if n_turns - 1 not in named:
        scores[-1] = final
    return tuple(scores)


def advantages(rewards: Sequence[float], *, clip: float = math.inf) -> list[float]:
    """For each reward of a group, its difference from the mean in sample standard deviations.

    Args:
        clip: the largest advantage, and the negative of the smallest.

    Returns:
        All 0 for a group of one, or of equal rewards.
    """
    mean, deviation = fmean(rewards), _deviation(rewards)
    return [
        max(-clip, min(clip, (reward - mean) / deviation)) if deviation else 0.0
        for reward in rewards
    ]


def has_difference(rewards: Sequence[float], *, least_group: int, least_deviation: float) -> bool:
    """Whether a group is large enough to be trained on, and its deviation above the least."""
    return len(rewards) >= least_group and _deviation(rewards) > least_deviation


def _deviation(values: Sequence[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0
