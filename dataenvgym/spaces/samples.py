"""Small arithmetic problems in several scripts; spaces draw their samples from them."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

TASK = "sample"
SKILLS = {
    "addition": ("+", operator.add),
    "subtraction": ("−", operator.sub),  # noqa: RUF001
    "multiplication": ("×", operator.mul),  # noqa: RUF001
}
_QUESTIONS = (
    "What is {sum}?",
    "Wie viel ergibt {sum}? Prüfe es zweimal.",
    "Сколько будет {sum}?",
    "{sum} はいくつですか。",
    "كم يساوي {sum}؟",
    "{sum} = ? 🧮",
)


@dataclass(frozen=True)
class SampleProblem:
    """A question, its answer, and a solution that ends in the answer."""

    question: str
    answer: str
    skill: str

    @property
    def solution(self) -> str:
        return f"#### {self.answer}"


def draw_problem(rng: np.random.Generator) -> SampleProblem:
    """A problem on two numbers below 100."""
    skill = list(SKILLS)[int(rng.integers(len(SKILLS)))]
    sign, compute = SKILLS[skill]
    a, b = rng.integers(2, 100, 2).tolist()
    question = _QUESTIONS[int(rng.integers(len(_QUESTIONS)))]
    return SampleProblem(question.format(sum=f"{a} {sign} {b}"), str(compute(a, b)), skill)


def draw_skills(rng: np.random.Generator) -> list[str]:
    """One or more names of skills, sorted."""
    return sorted(rng.permutation(list(SKILLS))[: int(rng.integers(1, len(SKILLS) + 1))].tolist())
