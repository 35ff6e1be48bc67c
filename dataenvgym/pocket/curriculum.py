"""What the pocket student is pretrained on, and how much of it.

Every skill of every pocket family is practised in symbols; the strong skills are practised in
plain words too. The weak skills appear in plain words so rarely that the student half knows what
they ask for: a controller watches its accuracy on probe exercises (of the training split) and
shows a phrasing more often while the accuracy is below `weak_accuracy`, and not at all while it
is above. That is the point at which a few good records help, and bad ones harm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dataenvgym.pocket.families import FAMILY_OF
from dataenvgym.tasks.pocket import Exercise

SHARES = {"pocket_math": 0.78, "pocket_code": 0.22}
"""Of the rows, by family: a function is quicker to learn than a procedure on numbers."""

HARD_SKILLS = ("without", "occurrences", "sum", "total")
"""Slow to learn even in symbols: practised three times as often."""

EARLY_SKILLS = (
    "ascending", "rotated", "largest", "evens", "length", "sum",
    "maximum", "summed", "sorted_up", "tail", "positive_items", "items_over", "scaled", "squared",
    "capitals", "last_word",
)  # fmt: skip
"""Practised in plain words from the beginning."""

LATE_SKILLS = ("without", "even_count", "occurrences", "total")
"""Half known like the weak ones at first; practised in plain words in the last stage."""

STRONG_SKILLS = (*EARLY_SKILLS, *LATE_SKILLS)


@dataclass
class Curriculum:
    """Draws pretraining rows.

    Attributes:
        strong: skills practised in plain words; the others are weak.
        symbols: share of rows in symbols; the rest is strong skills in plain words.
        weak_accuracy: where the controller holds the weak skills.
        initial_rate, lowest_rate, highest_rate: bounds of `weak_rates`.
        weak_rates: share of rows for each weak skill in plain words.
    """

    strong: tuple[str, ...] = STRONG_SKILLS
    symbols: float = 0.6
    weak_accuracy: float = 0.35
    initial_rate: float = 0.0005
    lowest_rate: float = 0.00005
    highest_rate: float = 0.004
    weak_rates: dict[str, float] = field(default_factory=dict)

    @property
    def weak(self) -> tuple[str, ...]:
        """The skills that the controller holds half known."""
        return tuple(name for name in FAMILY_OF if name not in self.strong)

    def draw(self, size: int, rng: np.random.Generator) -> list[Exercise]:
        """`size` exercises of the training split."""
        rates = np.array(list(self.weak_rates.values()))
        rest = 1.0 - rates.sum()
        choices = [
            *((name, False) for name in self.weak_rates),
            *((name, True) for name in FAMILY_OF),
            *((name, False) for name in self.strong),
        ]
        weights = np.concatenate(
            [
                rates,
                rest * self.symbols * _shares(FAMILY_OF),
                rest * (1 - self.symbols) * _shares(self.strong, hard=1.0),
            ]
        )
        picks = rng.choice(len(choices), size, p=weights / weights.sum())
        return [
            FAMILY_OF[name].draw(name, "train", rng, symbols=symbols)
            for name, symbols in (choices[int(i)] for i in picks)
        ]

    def adjust(self, accuracy: Mapping[str, float]) -> None:
        """Set the rates of the weak skills by the measured accuracy."""
        for name in self.weak:
            rate = self.weak_rates.get(name, self.initial_rate)
            if accuracy[name] >= self.weak_accuracy:
                self.weak_rates[name] = 0.0
            else:
                rate = max(rate, self.lowest_rate) * 1.5
                self.weak_rates[name] = min(rate, self.highest_rate)


def _shares(skills: Collection[str], *, hard: float = 3.0) -> NDArray[np.float64]:
    """What part of the rows each skill gets: by family, the hard skills `hard` times as often."""
    weights = np.array([hard if name in HARD_SKILLS else 1.0 for name in skills])
    families = np.array([FAMILY_OF[name].name for name in skills])
    for name, share in SHARES.items():
        weights[families == name] *= share / weights[families == name].sum()
    return weights
