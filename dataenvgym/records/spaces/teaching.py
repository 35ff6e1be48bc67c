"""The data-generation agent's observations and actions: evaluated problems, the report, records."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import TypeAdapter

from dataenvgym.records import (
    CompletedTaskInstance,
    Message,
    PerformanceReport,
    Provenance,
    SkillReport,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.datum import Datum
from dataenvgym.records.spaces.conversation import (
    TASK,
    RecordSpace,
    draw_problem,
    draw_skills,
    is_tuple_of,
)


class CompletedInstancesSpace(RecordSpace[tuple[CompletedTaskInstance, ...]]):
    """Evaluated problems: tuples of `CompletedTaskInstance`."""

    adapter = TypeAdapter(tuple[CompletedTaskInstance, ...])

    def contains(self, x: Any) -> bool:
        return is_tuple_of(x, CompletedTaskInstance)

    def draw(self, rng: np.random.Generator) -> tuple[CompletedTaskInstance, ...]:
        return tuple(_completed(i, rng) for i in range(int(rng.integers(1, 5))))


class ReportSpace(RecordSpace[PerformanceReport]):
    """One `PerformanceReport`."""

    adapter = TypeAdapter(PerformanceReport)

    def contains(self, x: Any) -> bool:
        return isinstance(x, PerformanceReport)

    def draw(self, rng: np.random.Generator) -> PerformanceReport:
        skills = tuple(
            SkillReport(skill=skill, category=None, score=share, accuracy=share, n=8, n_errors=0)
            for skill, share in zip(draw_skills(rng), rng.integers(0, 9, 8) / 8, strict=False)
        )
        score = float(np.mean([skill.score for skill in skills]))
        return PerformanceReport(
            task=TASK, score=score, accuracy=score, n=8 * len(skills), n_errors=0, skills=skills
        )


class RecordsSpace(RecordSpace[tuple[TrainingDatum, ...]]):
    """Batches of training records of any kind; a batch may be empty."""

    adapter = TypeAdapter(tuple[TrainingDatum, ...])

    def contains(self, x: Any) -> bool:
        return is_tuple_of(x, Datum)

    def draw(self, rng: np.random.Generator) -> tuple[TrainingDatum, ...]:
        problems = [draw_problem(rng) for _ in range(int(rng.integers(1, 5)))]
        return tuple(
            SupervisedDatum(
                instruction=problem.question,
                output=problem.solution,
                provenance=Provenance(skill=problem.skill),
            )
            for problem in problems
        )


def _completed(number: int, rng: np.random.Generator) -> CompletedTaskInstance:
    problem = draw_problem(rng)
    was_correct = bool(rng.random() < 0.5)
    return CompletedTaskInstance(
        instance=TaskInstance(
            id=f"{TASK}-{number}",
            task=TASK,
            instruction=problem.question,
            answer=problem.answer,
            skill=problem.skill,
        ),
        transcript=(
            Message(role="user", content=problem.question),
            Message(role="assistant", content=problem.solution if was_correct else "? 🤷"),
        ),
        reward=float(was_correct),
        was_correct=was_correct,
    )
