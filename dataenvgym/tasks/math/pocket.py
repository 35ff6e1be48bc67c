"""Pocket math: the small, seeded, procedural family of the math domain.

The same problems in every process and on every machine; operands are disjoint between splits
(see `pocket_skills`). It comes with what a real task comes with, gold skills included, and its
answers go through the ordinary math environment and scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TrainingDatum
from dataenvgym.tasks.base import Split
from dataenvgym.tasks.claims import all_hold, claims_of
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.math.answers import MathAnswers
from dataenvgym.tasks.math.environment import MathEnvironment
from dataenvgym.tasks.math.pocket_family import POCKET_MATH
from dataenvgym.tasks.math.pocket_reading import operands_of, solve
from dataenvgym.tasks.math.pocket_skills import SKILLS, draw_problem
from dataenvgym.tasks.procedural import ProceduralTask
from dataenvgym.tasks.prompt_template import INSTRUCTION, PromptTemplate

GREEDY = SamplingParameters(max_tokens=16)


class PocketMathTask(MathAnswers, ProceduralTask):
    """Problems of pocket math, the skills in equal shares.

    Args:
        system_prompt, template: see `MathEnvironment`.
        sampling: how the student answers; the longest answer takes nine tokens.
        options: those of `ProceduralTask` and `Task`.
    """

    name = "pocket_math"
    family = POCKET_MATH

    def __init__(
        self,
        *,
        system_prompt: str = "",
        template: str = INSTRUCTION,
        sampling: SamplingParameters = GREEDY,
        **options: Any,
    ):
        super().__init__(sampling=sampling, **options)
        self.prompt_template = PromptTemplate(system_prompt, template)

    def draw(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        problem = draw_problem(SKILLS[skill], split, rng)
        fields = {"answer": problem.answer, "category": problem.skill.category}
        return problem.question, lambda: fields

    def make_environment(self) -> TaskEnvironment:
        prompt = self.prompt_template
        return MathEnvironment(
            self.instances, system_prompt=prompt.system, template=prompt.template
        )

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether what a training record claims holds; None if it is about something else."""
        claims = [
            (claim, solve(self.prompt_template.instruction_in(claim.question)))
            for claim in claims_of(record)
        ]
        return all_hold([None if gold is None else claim.holds(gold) for claim, gold in claims])

    def overlap_key(self, text: str) -> str:
        """Two problems on the same operands are the same; without numbers, the same words."""
        numbers = operands_of(text)
        return " ".join(map(str, numbers)) if numbers else super().overlap_key(text)
