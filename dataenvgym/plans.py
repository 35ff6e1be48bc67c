"""Plans, which a policy gives to an engine: which records to write, and how many.

    Situation --policy--> Plan (assignments) --engine--> training records

A policy or an engine that remembers something from one iteration to the next also has
`state_dict() -> dict` (JSON) and `load_state_dict(dict)`; the agent saves it with its own.

Parts that do not fit together are refused before anything is run (`dataenvgym.agents.fitting`), by
the declarations of policies and engines: `policy.fit` is a `PolicyFit`, `engine.fit` an
`EngineFit`; without the attribute it is the default one. An engine may also have

- `reads(text) -> bool`: whether it can write records like a problem with that text (`Reads`);
- `prepare()`: loads what it writes from; raises `ConfigurationError` if there is none (`Prepares`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np

from dataenvgym.errors import ConfigurationError, InvalidRecordError, did_you_mean
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum, parse_training_data
from dataenvgym.run_warnings import warn_run

PlanDetail = Literal["nothing", "counts", "skills", "examples"]
"""The information in a plan, each more than the one before.

- "nothing": there is no plan;
- "counts": how many records, so that the engine chooses what to give;
- "skills": a skill for each assignment;
- "examples": examples, and perhaps a skill.
"""


@dataclass(frozen=True)
class PolicyFit:
    """The information in a policy's plans, and the needs of the policy.

    Attributes:
        tells: the information in its assignments.
        needs_skills: whether it works on instances with a skill only.
        needs_engine_skills: whether it asks for skills that the engine has to name.
        asks_student: whether it lets the student try problems.
    """

    tells: PlanDetail = "examples"
    needs_skills: bool = False
    needs_engine_skills: bool = False
    asks_student: bool = False

    def __post_init__(self) -> None:
        _check_told("tells", self.tells)


@dataclass(frozen=True)
class EngineFit:
    """The information that an engine needs, and whether it has records to give.

    Attributes:
        needs: the least that an assignment has to tell it; "nothing" follows no plan at all.
        writes: False if it has no records, or no more, so that none is no surprise (read before
            each call; otherwise an iteration without records is warned about).
    """

    needs: PlanDetail = "skills"
    writes: bool = True

    def __post_init__(self) -> None:
        _check_told("needs", self.needs)

    def is_told_enough(self, policy: PolicyFit) -> bool:
        """Whether that policy's plans tell what the engine needs."""
        order = get_args(PlanDetail)
        return order.index(policy.tells) >= order.index(self.needs)


FitT = TypeVar("FitT", PolicyFit, EngineFit)


def policy_fit(policy: object) -> PolicyFit:
    """The policy's declaration; the default if it has none.

    Raises:
        ConfigurationError: if its `fit` is something else.
    """
    return _fit_of(policy, PolicyFit)


def engine_fit(engine: object) -> EngineFit:
    """The engine's declaration; the default if it has none.

    Raises:
        ConfigurationError: if its `fit` is something else.
    """
    return _fit_of(engine, EngineFit)


def _fit_of(part: object, kind: type[FitT]) -> FitT:
    fit = getattr(part, "fit", None)
    if fit is None:
        return kind()
    if not isinstance(fit, kind):
        raise ConfigurationError(
            f"fit of {type(part).__name__} is {fit!r}, expected {kind.__name__}(...) (see "
            "dataenvgym.plans) as an attribute or a property; without one, the default holds"
        )
    return fit


def _check_told(name: str, told: str) -> None:
    if told not in get_args(PlanDetail):
        raise ConfigurationError(
            f"{name} is {told!r}, expected one of {', '.join(get_args(PlanDetail))}."
            f"{did_you_mean(str(told), get_args(PlanDetail))}"
        )


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
    """A policy's observation before an iteration.

    Attributes:
        completed: the evaluated validation instances.
        skills: that the engine can write for, besides examples; may be empty.
        predictor: the student as it is now, for policies that let it try; in an episode it also
            tries records without keeping them (`ShownStudentInterface`).
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
            situation: the policy's observation.
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
        `task_of(task).domain.prompt_template.frame(record)` (`dataenvgym.tasks.adapted`) puts
        an instruction into the task's prompt.

        `predictor` is the student as it is now, for engines that let it try (in an episode also
        on records: see `ShownStudentInterface`). An engine that cannot
        make them all returns those that it has; it raises `BudgetSpentError` only without any.
        """
        ...


@runtime_checkable
class Reads(Protocol):
    """An engine that writes records only like problems that it can read."""

    def reads(self, text: str, /) -> bool: ...


@runtime_checkable
class Prepares(Protocol):
    """An engine that loads what it writes from."""

    def prepare(self) -> None: ...


def generated(
    engine: Engine, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
) -> tuple[TrainingDatum, ...]:
    """Let `engine` write the records of the plan, and parse them.

    Raises:
        InvalidRecordError: if it does not return records; for a malformed one, naming its index
            and field.
    """
    records: object = engine.generate(plan, predictor, rng)
    if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
        raise InvalidRecordError(
            f"{type(engine).__name__}.generate returned {type(records).__name__}, expected a list "
            "of training records (models or mappings)"
        )
    return parse_training_data(records)


def warn_of_shortage(engine: object, plan: Plan, n_records: int) -> None:
    """Warn the run if an engine that follows plans wrote some of the plan's records, not all."""
    planned = sum(assignment.count for assignment in plan)
    if 0 < n_records < planned and engine_fit(engine).needs != "nothing":
        warn_run(
            f"{type(engine).__name__} wrote {n_records} of the {planned} records that were planned"
        )


def credited(record: TrainingDatum, assignment: Assignment) -> TrainingDatum:
    """The record, with the skill and the subskill that it was asked for where it names none."""
    own = record.provenance
    skill = own.skill if own.skill is not None else assignment.skill
    provenance = own.model_copy(update={"skill": skill, "subskill": assignment.subskill})
    return record.model_copy(update={"provenance": provenance})
