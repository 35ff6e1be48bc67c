"""Pocket code: the small, seeded, procedural family of the code domain.

The same problems in every process and on every machine; names are disjoint between splits (see
`pocket_skills`). The student writes a function, which hidden calls judge in the sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Split
from dataenvgym.tasks.code.pocket_family import POCKET_CODE
from dataenvgym.tasks.code.pocket_skills import (
    SKILLS,
    PocketCodeProblem,
    draw_problem,
    signature_in,
)
from dataenvgym.tasks.code.problem import CallTest, CodeProblem
from dataenvgym.tasks.code.sandboxed import SandboxedTask

GREEDY = SamplingParameters(max_tokens=40)
CALLS = 4
"""Hidden calls of each problem: enough to tell every two skills apart."""


class PocketCodeTask(SandboxedTask):
    """Problems of pocket code, the skills in equal shares.

    Args:
        n_train, n_validation, n_test: how many problems each split has.
        seed: which problems. The default evaluation sets are those of the published figures.
        sampling: how the student answers; the longest answer takes 23 tokens.
        options: those of `SandboxedTask`.
    """

    name = "pocket_code"
    family = POCKET_CODE

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
            rng = rngs[skill.name]
            problem = draw_problem(skill, split, rng)
            question = problem.worded(skill.phrasings[int(rng.integers(len(skill.phrasings)))])
            if question not in instances:
                instances[question] = TaskInstance(
                    id=f"{self.name}-{split}-{len(instances):05d}",
                    task=self.name,
                    instruction=question,
                    answer=problem.output,
                    skill=skill.name,
                    category=skill.category,
                    data=_judged_by(problem, rng).data(),
                )
        return list(instances.values())

    def overlap_key(self, text: str) -> str:
        """Two problems with the same names are the same; without such names, the same words."""
        signature = signature_in(text)
        return "{}({})".format(*signature) if signature else super().overlap_key(text)


def _judged_by(problem: PocketCodeProblem, rng: np.random.Generator) -> CodeProblem:
    """The problem with hidden calls, whose results the right function gave."""
    function, argument = problem.signature
    arguments = [problem.skill.arguments(rng) for _ in range(CALLS)]
    expression = problem.skill.expression.format(a=argument, k=problem.digit)
    return CodeProblem(
        entry_point=function,
        hidden=tuple(
            CallTest(args=(value,), expected=_evaluated(expression, argument, value))
            for value in arguments
        ),
        solution=problem.output,
    )


def _evaluated(expression: str, argument: str, value: Any) -> Any:
    """What an expression of our own skills gives."""
    return eval(expression, {argument: value})
