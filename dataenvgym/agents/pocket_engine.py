"""The embedded teacher of pocket math: writes records procedurally, always right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from dataenvgym.agents.plans import Assignment, Plan
from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import (
    CompletedTaskInstance,
    Provenance,
    SupervisedDatum,
    TrainingDatum,
)
from dataenvgym.tasks.math.pocket_skills import (
    SKILLS,
    PocketSkill,
    draw_problem,
    find_skill,
    recognize,
)


class PocketMathEngine:
    """Writes supervised records on operands of the training split.

    An assignment with a skill gets problems of that skill in all its phrasings; one with a
    subskill, in that phrasing; one with examples alone, or with a skill that pocket math does not
    name so, problems of an example's skill in the example's own phrasing.

    A subskill is a phrasing, `_` for its numbers: "Put _ in rising order."
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

    def propose_subskills(
        self,
        skill: str,
        known: Sequence[str],
        count: int,
        examples: Sequence[CompletedTaskInstance],
        rng: np.random.Generator,
    ) -> Sequence[str]:
        """Phrasings of the skill, or of the examples where pocket math does not name it so."""
        if skill in SKILLS:
            phrasings = SKILLS[skill].phrasings
        else:
            read = (recognize(c.instance.instruction) for c in examples)
            phrasings = tuple(dict.fromkeys(found[1] for found in read if found))
        names = [name for p in phrasings if (name := subskill_name(p)) not in known]
        return names[:count]

    def subskill_of(self, skill: str, instruction: str) -> str | None:
        """The phrasing of a problem."""
        found = recognize(instruction)
        return subskill_name(found[1]) if found else None


def subskill_name(phrasing: str) -> str:
    """A phrasing without its braces."""
    return re.sub(r"\{\w+\}", "_", phrasing)


_TRIES = 100
"""Draws before a skill counts as exhausted: there are only so many sums."""


def _write(
    assignment: Assignment, questions: set[str], rng: np.random.Generator
) -> SupervisedDatum | None:
    if (wanted := _wanted(assignment, rng)) is None:
        return None
    skill, phrasing = wanted
    name = skill.name if assignment.skill is None else assignment.skill
    provenance = Provenance(skill=name, subskill=assignment.subskill)
    for _ in range(_TRIES):
        problem = draw_problem(skill, "train", rng, phrasing=phrasing)
        if problem.question not in questions:
            return SupervisedDatum(
                instruction=problem.question, output=problem.output, provenance=provenance
            )
    return None


def _wanted(
    assignment: Assignment, rng: np.random.Generator
) -> tuple[PocketSkill, str | None] | None:
    if assignment.subskill is not None:
        return _find_subskill(assignment.subskill)
    if assignment.skill is not None and (assignment.skill in SKILLS or not assignment.examples):
        return find_skill(assignment.skill), None
    example = assignment.examples[int(rng.integers(len(assignment.examples)))]
    return recognize(example.instance.instruction)


def _find_subskill(name: str) -> tuple[PocketSkill, str]:
    try:
        return _subskills()[name]
    except KeyError:
        raise ConfigurationError(
            f"pocket math has no subskill {name!r}.{did_you_mean(name, _subskills())} "
            "A subskill is one of a skill's phrasings, `_` for its numbers"
        ) from None


@cache
def _subskills() -> dict[str, tuple[PocketSkill, str]]:
    return {subskill_name(p): (skill, p) for skill in SKILLS.values() for p in skill.phrasings}
