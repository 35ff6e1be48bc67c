"""The recipes of the pocket students: each student's families and its pretraining.

A new domain gets a new student, so the weights of the other students, and with them the published
figures, stay the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dataenvgym.domains.code.pocket import POCKET_CODE
from dataenvgym.domains.math.pocket import POCKET_MATH
from dataenvgym.domains.social.pocket import POCKET_SOCIAL
from dataenvgym.domains.tool_use.pocket import POCKET_TOOLS
from dataenvgym.tasks.pocket import PocketFamily


@dataclass(frozen=True)
class Stage:
    """A part of the pretraining, with a learning-rate schedule and an optimizer of its own.

    Attributes:
        name: for the log.
        path: selects its random rows among those of the seed.
        steps: number of batches.
        peak: the highest learning rate.
        strong: the skills that are practiced in plain words.
        weak_accuracy: the accuracy at which the controller holds the weak skills.
        probe_from: the step from which the controller works.
        initial_rate: the share of rows with which it begins to show a weak skill.
    """

    name: str
    path: tuple[str, ...]
    steps: int
    peak: float
    strong: tuple[str, ...]
    weak_accuracy: float
    probe_from: int
    initial_rate: float = 0.0005


@dataclass(frozen=True)
class PocketStudent:
    """One student's recipe.

    Attributes:
        name: of its weights.
        subject: of its pretraining, for its card.
        shares: its families, and the share of rows of each.
        stages: the parts of its pretraining; skills that are not strong in the last one stay half
            learned in plain words.
        hard: skills that are hard to learn even in symbols: practiced three times as often.
    """

    name: str
    subject: str
    shares: Mapping[PocketFamily[Any], float]
    stages: tuple[Stage, ...]
    hard: tuple[str, ...] = field(default=())

    @property
    def families(self) -> tuple[PocketFamily[Any], ...]:
        """The families that it knows."""
        return tuple(self.shares)

    @cached_property
    def family_of(self) -> Mapping[str, PocketFamily[Any]]:
        """The family of every skill; skill names are unique."""
        return {skill: family for family in self.families for skill in family.phrasings}


_EARLY = (
    "ascending", "rotated", "largest", "evens", "length", "sum",
    "maximum", "summed", "sorted_up", "tail", "positive_items", "items_over", "scaled", "squared",
    "capitals", "last_word",
)  # fmt: skip
_LATE = ("without", "even_count", "occurrences", "total")
"""Half learned like the weak ones at first; practiced in plain words in the last stage."""

POCKET_V2 = PocketStudent(
    "pocket-v2",
    "short problems with lists and numbers, and short Python functions",
    shares={POCKET_MATH: 0.78, POCKET_CODE: 0.22},  # a function takes less practice
    hard=("without", "occurrences", "sum", "total"),
    stages=(
        Stage(
            "learn",
            ("rows",),
            steps=2000,
            peak=2e-3,
            strong=_EARLY,
            weak_accuracy=0.35,
            probe_from=1000,
        ),
        Stage(
            "settle",
            ("rows", "settle"),
            steps=700,
            peak=1e-3,
            strong=(*_EARLY, *_LATE),
            weak_accuracy=0.15,
            probe_from=50,
        ),
    ),
)

_TOOLS = (
    "carried", "added", "packed", "counted", "totaled", "most", "joined", "paid", "topped",
    "shared",
)  # fmt: skip

POCKET_TOOLS_V1 = PocketStudent(
    "pocket-tools-v1",
    "requests that calls of small tools fulfill",
    shares={POCKET_TOOLS: 1.0},
    hard=("totaled", "most", "cheapest"),
    stages=(
        Stage(
            "learn",
            ("rows",),
            steps=500,
            peak=2e-3,
            strong=_TOOLS,
            weak_accuracy=0.0,  # not shown at all
            probe_from=500,
        ),
        Stage(
            "settle",
            ("rows", "settle"),
            steps=200,
            peak=6e-4,
            strong=_TOOLS,
            weak_accuracy=0.15,
            probe_from=50,
            initial_rate=0.0002,
        ),
    ),
)

_SOCIAL = (
    "open_high", "concede_late", "accept_good", "weigh_offer", "trade_spare", "share_fairly",
    "own_up", "announce",
)  # fmt: skip

POCKET_SOCIAL_V1 = PocketStudent(
    "pocket-social-v1",
    "small scenes in which one haggles, trades, shares and keeps secrets",
    shares={POCKET_SOCIAL: 1.0},
    hard=("trade_spare", "find_need", "whisper"),
    stages=(
        Stage(
            "learn",
            ("rows",),
            steps=350,
            peak=2e-3,
            strong=_SOCIAL,
            weak_accuracy=0.0,  # not shown at all
            probe_from=350,
        ),
        Stage(
            "settle",
            ("rows", "settle"),
            steps=100,
            peak=6e-4,
            strong=_SOCIAL,
            weak_accuracy=0.15,
            probe_from=50,
            initial_rate=0.001,
        ),
    ),
)

STUDENTS: Mapping[str, PocketStudent] = {
    student.name: student for student in (POCKET_V2, POCKET_TOOLS_V1, POCKET_SOCIAL_V1)
}
