"""What passes between a policy and an engine: a plan says which records, and how many.

    Situation --policy--> Plan (assignments) --engine--> training records

A policy or an engine that remembers something from one iteration to the next also has
`state_dict() -> dict` (JSON) and `load_state_dict(dict)`; the agent saves it with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum


class Assignment:
    """`count` records, to teach a skill, in the manner of some examples, or both.

    Attributes:
        count: how many records, at least 1.
        skill: the skill to teach, or None where only `examples` say it.
        examples: evaluated instances to take as a model; their gold answers may be read, their
            texts not repeated.
    """

    __slots__ = ("count", "examples", "skill")

    def __init__(
        self,
        count: int,
        *,
        skill: str | None = None,
        examples: Sequence[CompletedTaskInstance] = (),
    ) -> None:
        self.count = count
        self.skill = skill
        self.examples = tuple(examples)


Plan = tuple[Assignment, ...]


@dataclass(frozen=True)
class Situation:
    """What a policy sees before an iteration.

    Attributes:
        completed: the evaluated validation instances.
        skills: what the engine can be asked for, besides examples; may be empty.
        predictor: the student as it is now, for policies that let it try.
        iteration: the iteration that is planned, from 1 on.
    """

    completed: Sequence[CompletedTaskInstance]
    skills: Sequence[str]
    predictor: PredictorInterface
    iteration: int = 1


@runtime_checkable
class Policy(Protocol):
    """Turns what is seen into a plan."""

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        """A plan for `count` records.

        Args:
            situation: what there is to see.
            count: how many records the plan adds up to, or fewer where there is nothing to teach.
            rng: where all chance comes from.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """Turns a plan into training records."""

    @property
    def skills(self) -> Sequence[str]:
        """The skills that it can be asked for."""
        ...

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """The records that the plan asks for, with `provenance.skill` where it is known.

        `predictor` is the student as it is now, for engines that let it try. An engine that cannot
        make them all returns what it has; it raises `BudgetSpentError` only if that is nothing.
        """
        ...
