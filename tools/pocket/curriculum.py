"""The curriculum of a pocket student: the exercises, and how many of each.

Every skill of its families is practiced in symbols; the strong skills also in plain words. The weak
skills rarely appear in plain words, so that the student only half understands such questions. A
controller measures the accuracy on probe exercises (of the training split). It shows a phrasing
more often while the accuracy is below `weak_accuracy`, and not at all while it is above. At that
level, a few good records help and bad ones harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dataenvgym.tasks.pocket import Exercise
from tools.pocket.recipes import PocketStudent


@dataclass
class Curriculum:
    """Draws pretraining rows.

    Attributes:
        student: the exercises are of its families.
        strong: skills practiced in plain words; the others are weak.
        symbols: share of rows in symbols; the rest is strong skills in plain words.
        weak_accuracy: the accuracy at which the controller holds the weak skills.
        initial_rate, lowest_rate, highest_rate: bounds of `weak_rates`.
        weak_rates: share of rows for each weak skill in plain words.
    """

    student: PocketStudent
    strong: tuple[str, ...]
    symbols: float = 0.6
    weak_accuracy: float = 0.35
    initial_rate: float = 0.0005
    lowest_rate: float = 0.00005
    highest_rate: float = 0.004
    weak_rates: dict[str, float] = field(default_factory=dict)

    @property
    def weak(self) -> tuple[str, ...]:
        """The skills that the controller keeps half learned."""
        return tuple(name for name in self.student.family_of if name not in self.strong)

    def draw(self, size: int, rng: np.random.Generator) -> list[Exercise]:
        """`size` exercises of the training split."""
        family_of = self.student.family_of
        rates = np.array(list(self.weak_rates.values()))
        rest = 1.0 - rates.sum()
        choices = [
            *((name, False) for name in self.weak_rates),
            *((name, True) for name in family_of),
            *((name, False) for name in self.strong),
        ]
        weights = np.concatenate(
            [
                rates,
                rest * self.symbols * self._shares(family_of, hard=3.0),
                rest * (1 - self.symbols) * self._shares(self.strong, hard=1.0),
            ]
        )
        picks = rng.choice(len(choices), size, p=weights / weights.sum())
        return [
            family_of[name].practice(name, rng, symbols=symbols)
            for name, symbols in (choices[int(i)] for i in picks)
        ]

    def adjust(self, accuracy: Mapping[str, float]) -> None:
        """Set the rates of the weak skills from the measured accuracy."""
        for name in self.weak:
            rate = self.weak_rates.get(name, self.initial_rate)
            if accuracy[name] >= self.weak_accuracy:
                self.weak_rates[name] = 0.0
            else:
                rate = max(rate, self.lowest_rate) * 1.5
                self.weak_rates[name] = min(rate, self.highest_rate)

    def _shares(self, skills: Collection[str], *, hard: float) -> NDArray[np.float64]:
        """The share of rows of each skill: by family, hard skills `hard` times as often."""
        student = self.student
        weights = np.array([hard if name in student.hard else 1.0 for name in skills])
        families = np.array([student.family_of[name].name for name in skills])
        for family, share in student.shares.items():
            of_family = families == family.name
            weights[of_family] *= share / weights[of_family].sum()
        return weights
