"""Bandits over skills: they teach skills with recent progress again, and try unknown ones.

Each skill is an arm; a pull spends a few records on it. The reward is learning progress: the share
of the skill's errors that the pull removes (see `BanditPolicy.observe`). The value of an arm is its
progress times its remaining errors, which is the accuracy to be gained.

An iteration is a batch of pulls, chosen one after another before any reward is seen. After each
choice, the arm counts as better known and its expected remaining errors shrink, so that the next
pull may choose another arm.

- `UCBPolicy`: progress is judged by its upper confidence bound (discounted UCB, Garivier and
  Moulines 2011).
- `ThompsonPolicy`: progress is drawn from its posterior, a normal distribution.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np
from annotated_types import Gt, Le
from pydantic import JsonValue, NonNegativeFloat, PositiveInt

from dataenvgym.agents.policies.plain import accuracy, by_skill, skill_plan
from dataenvgym.records.plans import Plan, PolicyFit, Situation

_MOST = 0.95
"""The largest share that counts as removed: nothing is learned for good."""

_PRIOR = 0.2
"""Expected progress of an unknown arm: the share of its errors that a pull removes."""

_PRIOR_WEIGHT = 1.0
"""In the unit of observations: pulls times the arm's share of errors."""

_LEAST = 0.01
"""The least progress of an arm, so that no arm is given up for good."""


@dataclass(kw_only=True, eq=False)
class BanditPolicy(ABC):
    """The base of both bandits; a subclass estimates the progress.

    Args:
        records_per_pull: records that a pull spends, at least 1.
        discount: weight of an iteration's rewards relative to the next iteration's, in (0, 1].
    """

    fit = PolicyFit(needs_skills=True)
    name = "bandit"

    records_per_pull: PositiveInt = 15
    discount: Annotated[float, Gt(0), Le(1)] = 0.7

    def __post_init__(self) -> None:
        self._weights: dict[str, float] = {}  # pulls times the share of errors, discounted
        self._sums: dict[str, float] = {}  # of progress, with these weights
        self._planned: dict[str, float] = {}
        self._accuracies: dict[str, float] = {}

    @abstractmethod
    def reckon(
        self, means: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Estimate the progress of the next pull of each arm (n,).

        Args:
            means: the mean progress of each arm (n,).
            weights: the weight of the observations of each arm, with the prior and this batch (n,).
        """

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        groups = by_skill(situation.completed, self.name)
        skills = list(groups)
        accuracies = {skill: accuracy(group) for skill, group in groups.items()}
        self.observe(accuracies)
        seen = np.array([self._weights.get(skill, 0.0) for skill in skills])
        means = np.array([self.mean_progress(skill) for skill in skills])
        weights = seen + _PRIOR_WEIGHT
        means = (seen * means + _PRIOR_WEIGHT * _PRIOR) / weights
        # a skill without errors may have some that were not found: count half a wrong instance
        errors = np.array([max(1 - accuracies[s], 0.5 / len(groups[s])) for s in skills])
        records: Counter[str] = Counter()
        while (rest := count - records.total()) > 0:
            worth = errors * np.clip(self.reckon(means, weights, rng), _LEAST, 1.0)
            arm = int(rng.choice(np.flatnonzero(worth == worth.max())))
            records[skills[arm]] += min(self.records_per_pull, rest)
            weights[arm] += errors[arm]
            errors[arm] *= 1.0 - np.clip(means[arm], _LEAST, 1.0)
        self._planned = {s: n / self.records_per_pull for s, n in records.items() if n}
        return skill_plan(groups, [records[skill] for skill in skills])

    def observe(self, accuracies: Mapping[str, float]) -> None:
        """Discount earlier observations, and credit the changes since then to the planned pulls."""
        for skill in self._weights:
            self._weights[skill] *= self.discount
            self._sums[skill] *= self.discount
        for skill, pulls in self._planned.items():
            errors = 1.0 - self._accuracies.get(skill, 1.0)
            if skill in accuracies and errors > 0:
                removed = 1.0 - (1.0 - accuracies[skill]) / errors
                removed = min(max(removed, -_MOST), _MOST)
                progress = float(1.0 - (1.0 - removed) ** (1.0 / pulls))  # of each pull
                weight = pulls * errors
                self._weights[skill] = self._weights.get(skill, 0.0) + weight
                self._sums[skill] = self._sums.get(skill, 0.0) + weight * progress
        self._planned = {}
        self._accuracies = dict(accuracies)

    def mean_progress(self, skill: str) -> float:
        """The mean progress of a pull on the skill, at most 0.95; 0.0 without observations."""
        weight = self._weights.get(skill, 0.0)
        return self._sums[skill] / weight if weight else 0.0

    def state_dict(self) -> dict[str, JsonValue]:
        return {
            "weights": dict(self._weights),
            "sums": dict(self._sums),
            "planned": dict(self._planned),
            "accuracies": dict(self._accuracies),
        }

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        for name in ("weights", "sums", "planned", "accuracies"):
            setattr(self, f"_{name}", dict(cast("dict[str, float]", state[name])))


@dataclass(kw_only=True, eq=False)
class UCBPolicy(BanditPolicy):
    """A bandit over skills; uses the upper confidence bound of learning progress.

    Estimates progress as `mean + exploration * sqrt(log(1 + W) / w)`.

    w is the weight of the arm's observations, and W that of all arms.

    Args:
        exploration: the size of the bonus for little-known arms, 0 or more.
    """

    name = "bandit_ucb"
    exploration: NonNegativeFloat = 0.1

    def reckon(
        self, means: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        bonus: np.ndarray = np.sqrt(math.log1p(weights.sum()) / weights)
        return means + self.exploration * bonus


@dataclass(kw_only=True, eq=False)
class ThompsonPolicy(BanditPolicy):
    """A bandit over skills; draws learning progress from its posterior.

    Draws progress from a normal distribution with standard deviation `noise / sqrt(w)`.

    w is the weight of the arm's observations.

    Args:
        noise: standard deviation of one pull's progress on a skill with accuracy 0, 0 or more.
    """

    name = "bandit_thompson"
    noise: NonNegativeFloat = 0.2

    def reckon(
        self, means: np.ndarray, weights: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        return rng.normal(means, self.noise / np.sqrt(weights))
