"""Pocket math: the small, seeded, procedural family of the math domain.

The same problems in every process and on every machine; operands are disjoint between splits
(see `pocket_skills`). It comes with what a real task comes with, gold skills included, and its
answers go through the ordinary math environment and scorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance, TrainingDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Split, Task
from dataenvgym.tasks.claims import all_hold, claims_of
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.math.answers import MathAnswers
from dataenvgym.tasks.math.environment import MathEnvironment
from dataenvgym.tasks.math.pocket_family import POCKET_MATH
from dataenvgym.tasks.math.pocket_skills import SKILLS, draw_problem, operands_of, solve

GREEDY = SamplingParameters(max_tokens=16)


class PocketMathTask(MathAnswers, Task):
    """Problems of pocket math, the skills in equal shares.

    Args:
        n_train, n_validation, n_test: how many problems each split has.
        seed: which problems. The default evaluation sets are those of the published figures.
        sampling: how the student answers; the longest answer takes nine tokens.
        options: those of `Task`.
    """

    name = "pocket_math"
    family = POCKET_MATH

    def __init__(
        self,
        *,
        n_train: int = 2000,
        n_validation: int = 400,
        n_test: int = 400,
        seed: int = 0,
        sampling: SamplingParameters = GREEDY,
        **options: Any,
    ):
        super().__init__(sampling=sampling, **options)
        self._sizes: dict[Split, int] = {
            "train": n_train,
            "validation": n_validation,
            "test": n_test,
        }
        self._seed = seed

    def load(self, split: Split) -> Sequence[TaskInstance]:
        rngs = {name: derive_rng(self._seed, self.name, split, name) for name in SKILLS}
        instances: dict[str, TaskInstance] = {}
        while len(instances) < self._sizes[split]:
            skill = list(SKILLS.values())[len(instances) % len(SKILLS)]
            problem = draw_problem(skill, split, rngs[skill.name])
            if problem.question not in instances:
                instances[problem.question] = TaskInstance(
                    id=f"{self.name}-{split}-{len(instances):05d}",
                    task=self.name,
                    instruction=problem.question,
                    answer=problem.answer,
                    skill=skill.name,
                    category=skill.category,
                )
        return list(instances.values())

    def make_environment(self) -> TaskEnvironment:
        return MathEnvironment(self.instances)

    def judge_record(self, record: TrainingDatum) -> bool | None:
        """Whether what a training record claims holds; None if it is about something else."""
        claims = [(claim, solve(claim.question)) for claim in claims_of(record)]
        return all_hold([None if gold is None else claim.holds(gold) for claim, gold in claims])

    def overlap_key(self, text: str) -> str:
        """Two problems on the same operands are the same; without numbers, the same words."""
        numbers = operands_of(text)
        return " ".join(map(str, numbers)) if numbers else super().overlap_key(text)
