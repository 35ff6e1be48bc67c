"""What the data-generation agent sees: evaluated problems and the report on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import TypeAdapter

from dataenvgym.records import (
    CompletedTaskInstance,
    Message,
    PerformanceReport,
    SkillReport,
    TaskInstance,
)
from dataenvgym.spaces.base import RecordSpace, is_tuple_of
from dataenvgym.spaces.samples import TASK, draw_problem, draw_skills


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
