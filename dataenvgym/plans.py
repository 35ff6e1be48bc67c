"""What passes between a policy and an engine: a plan says which records, and how many.

    Situation --policy--> Plan (assignments) --engine--> training records

A policy or an engine that remembers something from one iteration to the next also has
`state_dict() -> dict` (JSON) and `load_state_dict(dict)`; the agent saves it with its own.

What does not fit together is refused before anything is run (`dataenvgym.config.check_fit`), by
what policies and engines say of themselves, where they do:

- `policy.needs_skills`: True if it works on instances with a skill only;
- `policy.needs_engine_skills`: True if it asks for skills that the engine has to name;
- `policy.leaves_choice`: True if it gives assignments without skill and examples, and
  `engine.chooses`: True if the engine can work on those;
- `policy.asks_student`: True if it lets the student try problems;
- `policy.plans_nothing`: True if its plans are empty, and `engine.follows_plan`: False if the
  engine writes all the same;
- `policy.gives_examples`: False if its assignments have none, and `engine.needs_examples`: True
  if the engine cannot do without;
- `engine.writes_nothing`: True if it never writes a record;
- `engine.reads(text) -> bool`: whether it can write records like a problem with that text;
- `engine.is_spent`: True if it has no records to give, so that none is no surprise (read before
  each call; otherwise an iteration without records is warned about);
- `engine.prepare()`: loads what it writes from; raises `ConfigurationError` if there is none.
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

    With neither, the engine chooses what to give, if it can.

    Attributes:
        count: how many records, at least 1.
        skill: the skill to teach, or None where only `examples` say it.
        subskill: the part of `skill` to teach, or None for all of it.
        examples: evaluated instances to take as a model; their gold answers may be read, their
            texts not repeated. Not all are errors: one with an empty transcript was not tried.
    """

    __slots__ = ("count", "examples", "skill", "subskill")

    def __init__(
        self,
        count: int,
        *,
        skill: str | None = None,
        subskill: str | None = None,
        examples: Sequence[CompletedTaskInstance] = (),
    ) -> None:
        self.count = count
        self.skill = skill
        self.subskill = subskill
        self.examples = tuple(examples)

    def of(self, count: int) -> Assignment:
        """The same assignment, for another number of records."""
        return Assignment(count, skill=self.skill, subskill=self.subskill, examples=self.examples)


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

        They are models or mappings. Records of an assignment with a subskill have it in
        `provenance.subskill`. A prompt is to be as the student reads it in an evaluation:
        `prompt_template_of(task).frame(record)` (`dataenvgym.tasks.prompt_template`) puts an
        instruction into the task's prompt.

        `predictor` is the student as it is now, for engines that let it try. An engine that cannot
        make them all returns what it has; it raises `BudgetSpentError` only if that is nothing.
        """
        ...


def credited(record: TrainingDatum, assignment: Assignment) -> TrainingDatum:
    """The record, with the skill and the subskill that it was asked for where it names none."""
    own = record.provenance
    skill = own.skill if own.skill is not None else assignment.skill
    provenance = own.model_copy(update={"skill": skill, "subskill": assignment.subskill})
    return record.model_copy(update={"provenance": provenance})
