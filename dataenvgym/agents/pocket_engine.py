"""The embedded teacher of pocket math: writes records procedurally, always right."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dataenvgym.agents.plans import Assignment, Plan
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import Provenance, SupervisedDatum, TrainingDatum
from dataenvgym.tasks.math.pocket_skills import (
    SKILLS,
    PocketSkill,
    draw_problem,
    find_skill,
    recognize,
)


class PocketMathEngine:
    """Writes supervised records on operands of the training split.

    An assignment with a skill gets problems of that skill in all its phrasings; one with examples
    alone gets problems of the example's skill, in the example's own phrasing.
    """

    @property
    def skills(self) -> Sequence[str]:
        return tuple(SKILLS)

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """The records of the plan, all different.

        An example that it cannot read is passed over; so is what goes beyond the problems of a
        skill that there are.
        """
        questions: set[str] = set()
        records: list[TrainingDatum] = []
        for assignment in plan:
            for _ in range(assignment.count):
                if (record := _write(assignment, questions, rng)) is not None:
                    questions.add(record.instruction)
                    records.append(record)
        return records


_TRIES = 100
"""Draws before a skill counts as exhausted: there are only so many sums."""


def _write(
    assignment: Assignment, questions: set[str], rng: np.random.Generator
) -> SupervisedDatum | None:
    if (wanted := _wanted(assignment, rng)) is None:
        return None
    skill, phrasing = wanted
    for _ in range(_TRIES):
        problem = draw_problem(skill, "train", rng, phrasing=phrasing)
        if problem.question not in questions:
            return SupervisedDatum(
                instruction=problem.question,
                output=problem.output,
                provenance=Provenance(skill=skill.name),
            )
    return None


def _wanted(
    assignment: Assignment, rng: np.random.Generator
) -> tuple[PocketSkill, str | None] | None:
    if assignment.skill is not None:
        return find_skill(assignment.skill), None
    example = assignment.examples[int(rng.integers(len(assignment.examples)))]
    return recognize(example.instance.instruction)
