"""Learning progress: how fast a student learns each skill, from recent changes.

The unit is the pull: a fixed number of records on one skill. Its progress is the share of the
remaining errors that it removes: accuracy from .5 to .6 removes a fifth of them, as does .9 to .92.
So progress does not shrink only because little is left to learn. Several pulls in one iteration
are assumed to remove the same share each, one after another.

Older changes count less, by `discount` for each iteration. An iteration weighs more the more pulls
it made and the more errors there were.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError

_MOST = 0.95
"""The largest share that counts as removed: nothing is learned for good."""


class LearningProgress:
    """Discounted mean progress of a pull, by skill.

    Args:
        discount: weight of an iteration relative to the next one, in (0, 1].
    """

    def __init__(self, discount: float) -> None:
        if not 0 < discount <= 1:
            raise ConfigurationError(f"discount is {discount}, expected more than 0, at most 1")
        self._discount = discount
        self._weights: dict[str, float] = {}
        self._sums: dict[str, float] = {}
        self._planned: dict[str, float] = {}
        self._accuracies: dict[str, float] = {}

    def observe(self, accuracies: Mapping[str, float]) -> None:
        """Credit the changes since the last call to the pulls planned since then."""
        for skill in self._weights:
            self._weights[skill] *= self._discount
            self._sums[skill] *= self._discount
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

    def plan(self, pulls: Mapping[str, float]) -> None:
        """Remember which pulls come next."""
        self._planned = {skill: n for skill, n in pulls.items() if n}

    def weight(self, skill: str) -> float:
        """The weight of the skill's observations: pulls times the share of errors, discounted."""
        return self._weights.get(skill, 0.0)

    def mean(self, skill: str) -> float:
        """The mean progress of a pull on the skill, at most 0.95; 0.0 without observations."""
        weight = self.weight(skill)
        return self._sums[skill] / weight if weight else 0.0

    def state_dict(self) -> dict[str, JsonValue]:
        return {
            "weights": dict(self._weights),
            "sums": dict(self._sums),
            "planned": dict(self._planned),
            "accuracies": dict(self._accuracies),
        }

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._weights = _numbers(state["weights"])
        self._sums = _numbers(state["sums"])
        self._planned = _numbers(state["planned"])
        self._accuracies = _numbers(state["accuracies"])


def _numbers(value: JsonValue) -> dict[str, float]:
    assert isinstance(value, dict)
    return {name: float(n) for name, n in value.items() if isinstance(n, int | float)}
