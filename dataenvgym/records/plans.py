"""Plans, which a policy gives to an engine: which records to write, and how many.

    Situation --policy--> Plan (assignments) --engine--> training records

A policy or an engine with memory also has `state_dict() -> dict` (JSON) and
`load_state_dict(dict)`; the agent saves this state with its own.

Parts that do not fit together are refused before anything runs (`dataenvgym.agents.compatibility`).
Policies and engines declare their needs: `policy.fit` is a `PolicyFit`, `engine.fit` an
`EngineFit`; without the attribute, the default applies. An engine may also have

- `reads(text) -> bool`: True if it can write records like a problem with this text;
- `prepare()`: loads its source data; raises `ConfigurationError` if there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np

from dataenvgym.errors import InvalidRecordError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum, parse_training_data

PlanDetail = Literal["nothing", "counts", "skills", "examples"]
"""The detail of a plan, in increasing order.

- "nothing": there is no plan;
- "counts": the number of records; the engine chooses their contents;
- "skills": a skill for each assignment;
- "examples": examples, and perhaps a skill.
"""


@dataclass(frozen=True)
class PolicyFit:
    """The detail of a policy's plans, and the needs of the policy.

    Attributes:
        tells: the detail of its assignments.
        needs_skills: True if it needs instances with skills.
        needs_engine_skills: True if it needs an engine that names its skills.
        asks_student: True if it lets the student try problems.
    """

    tells: PlanDetail = "examples"
    needs_skills: bool = False
    needs_engine_skills: bool = False
    asks_student: bool = False


@dataclass(frozen=True)
class EngineFit:
    """The detail that an engine needs, and whether it has records to give.

    Attributes:
        needs: the least detail of an assignment that it needs; "nothing" ignores plans.
        writes: False if it has no records left; True makes an iteration without records a warning.
            It is read before each call.
        measures: True if it needs a student that `AblePredictor`.
    """

    needs: PlanDetail = "skills"
    writes: bool = True
    measures: bool = False

    def is_satisfied_by(self, policy: PolicyFit) -> bool:
        """True if the policy's plans have the detail that the engine needs."""
        order = get_args(PlanDetail)
        return order.index(policy.tells) >= order.index(self.needs)


def policy_fit(policy: object) -> PolicyFit:
    """The policy's declaration; the default if it has none."""
    return getattr(policy, "fit", None) or PolicyFit()


def engine_fit(engine: object) -> EngineFit:
    """The engine's declaration; the default if it has none."""
    return getattr(engine, "fit", None) or EngineFit()


@dataclass(slots=True, eq=False)
class Assignment:
    """A request for `count` records that teach a skill, or resemble examples, or both.

    With neither, the engine chooses, if it can.

    Attributes:
        count: the number of records, at least 1.
        skill: the skill to teach, or None if only `examples` show it.
        subskill: the part of `skill` to teach, or None for all of it.
        examples: evaluated instances to use as models. Engines may read their gold answers, but
            must not repeat their texts. Not all are errors: an example with an empty transcript was
            not tried.
    """

    count: int
    _: KW_ONLY
    skill: str | None = None
    subskill: str | None = None
    examples: Sequence[CompletedTaskInstance] = ()

    def __post_init__(self) -> None:
        self.examples = tuple(self.examples)

    @property
    def task(self) -> str | None:
        """The name of its first example's task; None without examples."""
        return next((example.instance.task for example in self.examples), None)

    def of(self, count: int) -> Assignment:
        """The same assignment with another number of records."""
        return replace(self, count=count)


Plan = tuple[Assignment, ...]


@dataclass(frozen=True)
class Situation:
    """A policy's observation before an iteration.

    Attributes:
        completed: the evaluated validation instances.
        skills: the skills that the engine can write for; may be empty.
        predictor: the current student, for policies that let it try problems. In an episode it can
            also try records without keeping the training (`ShownStudent.trial`).
        iteration: the iteration to plan, from 1 on.
    """

    completed: Sequence[CompletedTaskInstance]
    skills: Sequence[str]
    predictor: PredictorInterface
    iteration: int = 1


@runtime_checkable
class Policy(Protocol):
    """Turns a situation into a plan."""

    def plan(self, situation: Situation, count: int, rng: np.random.Generator) -> Plan:
        """Plan `count` records.

        Args:
            situation: the policy's observation.
            count: the number of records in all; a plan may have fewer if there is nothing to teach.
            rng: the source of all randomness.
        """
        ...


@runtime_checkable
class Engine(Protocol):
    """Turns a plan into training records."""

    @property
    def skills(self) -> Sequence[str]:
        """The skills that it can write records for."""
        ...

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Write the records of the plan.

        They are models or mappings, with `provenance.skill` if it is known, and
        `provenance.subskill` if the assignment has one. Prompts must look as in an evaluation:
        `task.frame(record)` puts an instruction into the task's prompt.

        `predictor` is the current student, for engines that let it try problems (in an episode
        also records: see `ShownStudent.trial`). An engine that cannot write all records returns
        those that it has; it raises `BudgetSpentError` only if it has none.
        """
        ...


def generated(
    engine: Engine, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
) -> tuple[TrainingDatum, ...]:
    """Let `engine` write the records of the plan, and parse them.

    Raises:
        InvalidRecordError: if it does not return records, or one is malformed; the message names
            its index and field.
    """
    records: object = engine.generate(plan, predictor, rng)
    if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
        raise InvalidRecordError(
            f"{type(engine).__name__}.generate returned {type(records).__name__}, expected a list "
            "of training records (models or mappings)"
        )
    return parse_training_data(records)


def warn_of_cut(
    planned: int, left: int, most: int, limit: str = "agent.records_per_iteration"
) -> None:
    """Warn the run if a policy planned more records than an iteration may have.

    Args:
        limit: the option that cuts the plan, with the value `most`.
    """
    if planned > left:
        warn_run(
            f"the policy asked for {planned:,} records in one iteration, and the plan was cut to "
            f"{left:,}: {limit} is {most:,}. Raise it, or have the policy ask for fewer"
        )


def warn_of_shortage(engine: object, plan: Plan, n_records: int) -> None:
    """Warn the run if an engine that follows plans wrote some of the plan's records, not all."""
    planned = sum(assignment.count for assignment in plan)
    if 0 < n_records < planned and engine_fit(engine).needs != "nothing":
        warn_run(
            f"{type(engine).__name__} wrote {n_records} of the {planned} records that were planned"
        )


def credited(record: TrainingDatum, assignment: Assignment) -> TrainingDatum:
    """Add the assignment's skill, subskill and task to the record if it names none."""
    own = record.provenance
    skill = own.skill if own.skill is not None else assignment.skill
    named = {"skill": skill, "subskill": assignment.subskill, "task": own.task or assignment.task}
    return record.model_copy(update={"provenance": own.model_copy(update=named)})


def apportion(weights: np.ndarray, count: int) -> list[int]:
    """Divide `count` in proportion to `weights` (n,), rounded by largest remainder.

    If all weights are 0, divide evenly.
    """
    if not weights.any():
        weights = np.ones_like(weights)
    shares = weights / weights.sum() * count
    counts = np.floor(shares).astype(int)
    missing = count - int(counts.sum())
    for i in np.argsort(counts - shares, kind="stable")[:missing]:
        counts[i] += 1
    return [int(n) for n in counts]
