"""Pocket code: the small, seeded, procedural family of the code domain.

The same problems in every process and on every machine; names are disjoint between splits (see
`pocket_skills`). The student writes a function, which hidden calls judge in the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.sandbox import Limits
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Split
from dataenvgym.tasks.code.pocket_family import POCKET_CODE
from dataenvgym.tasks.code.pocket_reading import read, signature_in
from dataenvgym.tasks.code.pocket_skills import SKILLS, PocketCodeProblem, draw_problem
from dataenvgym.tasks.code.problem import CallTest, CodeProblem
from dataenvgym.tasks.code.sandboxed import SandboxedTask
from dataenvgym.tasks.procedural import ProceduralTask

GREEDY = SamplingParameters(max_tokens=40)
LIMITS = Limits(seconds=3.0, memory=256 * 2**20)
CALLS = 4
"""Hidden calls of each problem: enough to tell every two skills apart."""


class PocketCodeTask(ProceduralTask, SandboxedTask):
    """Problems of pocket code, the skills in equal shares.

    Args:
        sampling: how the student answers; the longest answer takes 23 tokens.
        limits: of each run; its functions need a fraction of them.
        options: those of `ProceduralTask` and `SandboxedTask`.
    """

    name = "pocket_code"
    family = POCKET_CODE

    def __init__(
        self,
        *,
        sampling: SamplingParameters = GREEDY,
        limits: Limits | Mapping[str, Any] = LIMITS,
        **options: Any,
    ):
        super().__init__(sampling=sampling, limits=limits, **options)

    def draw(
        self, skill: str, split: Split, rng: np.random.Generator
    ) -> tuple[str, Callable[[], Mapping[str, Any]]]:
        problem = draw_problem(SKILLS[skill], split, rng)
        phrasings = problem.skill.phrasings
        question = problem.worded(phrasings[int(rng.integers(len(phrasings)))])
        return question, lambda: {
            "answer": problem.output,
            "category": problem.skill.category,
            "data": _judged_by(problem, rng).data(),
        }

    def known_problem(self, question: str) -> CodeProblem | None:
        """A problem of the training split, or one of the family, with calls of its own."""
        if (known := super().known_problem(question)) is not None:
            return known
        if (found := read(question)) is None:
            return None
        return _judged_by(found[0], derive_rng(0, self.name, "calls", question))

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
