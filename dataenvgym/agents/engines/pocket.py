"""The built-in teacher of the pocket suite: writes records by rules, always right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, Provenance, TrainingDatum
from dataenvgym.records.plans import Assignment, Plan
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.pocket import family_of, find_skill


class PocketEngine:
    """The built-in teacher: writes records of pocket tasks by rules, always right.

    Records are supervised; if the family has tools, they are chats that call them. An assignment
    gets exercises as follows:

    - with a skill: of that skill, in all its phrasings;
    - with a subskill: in that phrasing;
    - with examples only, or with a skill whose name the family does not know: of an example's
      skill, in the example's phrasing.

    A subskill is a phrasing, with `_` for its subject: "Put _ in rising order."

    Args:
        task: a pocket task. Its family is taught, in the task's prompts.

    Raises:
        ConfigurationError: if it is not a pocket task.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._family = family_of(task)

    @property
    def skills(self) -> Sequence[str]:
        return tuple(self._family.phrasings)

    def reads(self, question: str) -> bool:
        return self._family.read(question) is not None

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """The records of the plan, all different.

        Skips examples that it cannot read. Writes fewer records when a skill runs out of exercises.
        """
        questions: set[str] = set()
        domain = self._task.domain
        records: list[TrainingDatum] = []
        for assignment in plan:
            for _ in range(assignment.count):
                if (wanted := self._wanted(assignment, rng)) is None:
                    continue
                skill, phrasing = wanted
                name = skill if assignment.skill is None else assignment.skill
                for _ in range(_TRIES):
                    exercise = self._family.draw(skill, "train", rng, phrasing=phrasing)
                    if exercise.question not in questions:
                        questions.add(exercise.question)
                        provenance = Provenance(skill=name, subskill=assignment.subskill)
                        records.append(self._family.record(exercise, domain, provenance))
                        break
        return records

    def propose_subskills(
        self,
        skill: str,
        known: Sequence[str],
        count: int,
        examples: Sequence[CompletedTaskInstance],
        rng: np.random.Generator,
    ) -> Sequence[str]:
        """Phrasings of the skill, or of the examples if the family does not know its name."""
        phrasings: Sequence[str | None] = self._family.phrasings.get(skill, ())
        if not phrasings:
            read = (self._family.read(c.instance.instruction) for c in examples)
            phrasings = tuple(dict.fromkeys(exercise.phrasing for exercise in read if exercise))
        return [n for p in phrasings if p and (n := subskill_name(p)) not in known][:count]

    def subskill_of(self, skill: str, instruction: str) -> str | None:
        exercise = self._family.read(instruction)
        return subskill_name(exercise.phrasing) if exercise and exercise.phrasing else None

    def _wanted(
        self, assignment: Assignment, rng: np.random.Generator
    ) -> tuple[str, str | None] | None:
        """The skill and the phrasing to write in (None: any)."""
        if (subskill := assignment.subskill) is not None:
            return self._subskills[subskill]
        skill = assignment.skill
        if skill is not None and (skill in self._family.phrasings or not assignment.examples):
            return find_skill(self._family, skill), None
        example = assignment.examples[int(rng.integers(len(assignment.examples)))]
        exercise = self._family.read(example.instance.instruction)
        return (exercise.skill, exercise.phrasing) if exercise else None

    @cached_property
    def _subskills(self) -> dict[str, tuple[str, str]]:
        return {
            subskill_name(phrasing): (skill, phrasing)
            for skill, phrasings in self._family.phrasings.items()
            for phrasing in phrasings
        }


def subskill_name(phrasing: str) -> str:
    """A phrasing without its braces."""
    return re.sub(r"\{\w+\}", "_", phrasing)


_TRIES = 100
"""Draws before a skill counts as exhausted: it has a limited number of exercises."""
