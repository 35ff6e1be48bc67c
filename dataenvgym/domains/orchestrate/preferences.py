"""Preferences of a user of orchestrations: weights on accuracy, cost, latency, tools and tiers.

A problem may state it as text, which the orchestrator reads, and as weights, which rewards and
reports use: `{"text": "Be quick.", "weights": {"accuracy": 1, "latency": 0.5, "search": -1}}`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import Field

from dataenvgym.domains.orchestrate.calls import Account
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import Model, TaskInstance
from dataenvgym.records.model import Finite
from dataenvgym.tasks.rows import parsed

ACCURACY, COST, LATENCY = "accuracy", "cost", "latency"
DOLLARS_SCALE, SECONDS_SCALE = 5.0, 1 / 500
"""Of the efficiency reward: what a dollar and a second weigh."""


class Preference(Model):
    """The preference of a user.

    Attributes:
        weights: of `accuracy`, `cost` and `latency`, at least 0, and of calls of tools and tiers;
            below 0, calls are not wanted.
        text: the same in words; without it, the weights are listed.
    """

    weights: dict[str, Finite] = Field(min_length=1)
    text: str = ""

    @property
    def words(self) -> str:
        """The text for the orchestrator."""
        listed = ", ".join(f"{name} {weight:g}" for name, weight in self.weights.items())
        return self.text or f"What matters to the user, by weight: {listed}"


def parse_preference(given: Any, names: Collection[str], where: str) -> Preference:
    """A preference of a row or an option: its weights, or text and weights.

    Args:
        names: of the tools and tiers that are offered.

    Raises:
        InvalidInstanceError: naming the place and the invalid weight.
    """
    if isinstance(given, Mapping) and "weights" not in given:
        given = {"weights": given}
    preference = parsed(Preference, given, f"{where}: preference")
    for name, weight in preference.weights.items():
        known = (ACCURACY, COST, LATENCY, *names)
        if name not in known or (weight < 0 and name in known[:3]):
            raise InvalidInstanceError(
                f"{where}: the preference weighs {name!r} by {weight:g}, expected only "
                f"{', '.join(known)}, and the first three by 0 or more"
            )
    return preference


def preference_of(instance: TaskInstance) -> Preference | None:
    """The preference of a problem, or None."""
    given = instance.data.get("preference")
    return None if given is None else Preference.model_validate(given)


def kept(preference: Preference, account: Account, was_correct: bool) -> float | None:
    """How well a preference was kept, in 0..1; None if a cost or time that it weighs is unknown.

    The weighted mean of: the outcome; 1 minus the cost or time on the scale of the efficiency
    reward (0 from 20 cents or 500 seconds); for a tool or tier, whether it was called (wanted) or
    was not (unwanted).
    """
    total = sum(map(abs, preference.weights.values()))
    spent = {COST: (account.cost, DOLLARS_SCALE), LATENCY: (account.seconds, SECONDS_SCALE)}
    value = 0.0
    for name, weight in preference.weights.items():
        if name == ACCURACY:
            value += weight * was_correct
        elif name not in spent:
            value += abs(weight) * ((name in account.calls) == (weight > 0))
        elif weight:
            amount, scale = spent[name]
            if amount is None:
                return None
            value += weight * max(0.0, 1 - scale * amount)
    return value / total if total else 1.0
