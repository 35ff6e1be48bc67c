"""Pocket math: the small, seeded, procedural family of the math domain.

Small procedures on short lists and two-digit numbers: 20 skills in 5 categories. A `PocketSkill`
draws operands, solves them, and words the question: in symbols (`desc 3 1 4 =`) or in one of
several plain-word phrasings ("Put 3 1 4 in falling order."). Every answer is one integer or a list
of digits separated by spaces, after `####`, and goes through the ordinary environment and scorer.

Training, validation and test never share operands: `split_of` assigns the *sorted* operands of
a problem to exactly one split, for all skills, orders and phrasings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.domains.math.pocket_skills import SKILLS, Numbers, PocketSkill, spaced
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import LabeledAnswer, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, each_answer, gives
from dataenvgym.tasks.options import PocketOptions, PromptOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.scoring import answers_equal, extract_final_answer
from dataenvgym.tasks.source import Split

_NUMBERS = re.compile(r"[0-9]+(?: [0-9]+)*")


@dataclass(frozen=True, kw_only=True)
class PocketMathOptions(PocketOptions, PromptOptions):
    """Options of `PocketMathTask`.

    Attributes:
        sampling: how the student answers; the longest answer takes nine tokens.
    """

    sampling: SamplingParameters = SamplingParameters(max_tokens=16)


class PocketMathTask(Task):
    """Pocket math: 20 small procedural skills in 5 categories, with gold skills."""

    name = "pocket_math"

    @takes(PocketMathOptions)
    def __init__(self, options: PocketMathOptions) -> None:
        source = POCKET_MATH.source(options.sizes, seed=options.seed)
        self.set_up(source, PocketMathDomain(options.prompt), options, name=options.name)


class PocketMathDomain(MathDomain):
    """Math problems that it can solve by itself, so that it can judge records on them."""

    @property
    def family(self) -> PocketMath:
        return POCKET_MATH

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether it is right; None if it is not one to a problem of the family."""
        question = self.prompt_template.instruction_in(answer.question)
        if (gold := solve(question)) is None:
            return None
        instance = TaskInstance(id="record", task=POCKET_MATH.name, instruction=question)
        return gives(self, instance, answer.text, gold)

    def overlap_key(self, text: str) -> str:
        """Two problems on the same operands are the same; without numbers, the same words."""
        numbers = operands_of(text)
        return " ".join(map(str, numbers)) if numbers else Domain.overlap_key(self, text)


@dataclass(frozen=True)
class PocketProblem:
    """A skill and its numbers."""

    skill: PocketSkill
    numbers: Numbers

    @property
    def answer(self) -> str:
        return self.skill.answer(self.numbers)

    @property
    def output(self) -> str:
        return f"#### {self.answer}"

    def worded(self, phrasing: str | None) -> str:
        """The question in that phrasing; None is in symbols, e.g. `desc 3 1 4 =`."""
        numbers = self.numbers
        if phrasing is None:
            return f"{self.skill.symbol} {spaced(numbers)} ="
        listed = spaced(numbers[:-1] if "{k}" in phrasing else numbers)
        return phrasing.format(xs=listed, k=numbers[-1], a=numbers[0], b=numbers[-1])


class PocketMath(PocketFamily[PocketProblem]):
    """The family; see `PocketFamily`."""

    name = "pocket_math"
    skills: Mapping[str, PocketSkill] = SKILLS

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> PocketProblem:
        while split_of(numbers := SKILLS[skill].draw(rng)) != split:
            pass
        return PocketProblem(SKILLS[skill], numbers)

    def find(self, question: str) -> tuple[PocketProblem, str] | None:
        if (found := recognize(question)) is None:
            return None
        skill, phrasing = found
        return PocketProblem(skill, _numbers_in(question)), phrasing

    def holds(self, exercise: Exercise, output: str) -> bool:
        answer = extract_final_answer(output)
        gold = SKILLS[exercise.skill].answer(_numbers_in(exercise.question))
        return answer is not None and answers_equal(gold, answer)


POCKET_MATH = PocketMath()


@cache
def split_of(numbers: Numbers) -> Split:
    """The one split that problems on these operands, in any order, belong to."""
    return split_by_hash(f"pocket-math {sorted(numbers)}")


# --- parsing of questions -------------------------------------------------------------------------

_SHAPES: Mapping[str, tuple[PocketSkill, str]] = {
    _NUMBERS.sub("#", PocketProblem(skill, (1, 1, 1)).worded(phrasing)): (skill, phrasing)
    for skill in SKILLS.values()
    for phrasing in skill.phrasings
}
_SYMBOLS: Mapping[str, PocketSkill] = {skill.symbol: skill for skill in SKILLS.values()}


def operands_of(text: str) -> Numbers:
    """The sorted integers in `text`: two problems with the same ones differ only in wording."""
    return tuple(sorted(_numbers_in(text)))


def recognize(question: str) -> tuple[PocketSkill, str] | None:
    """The skill and the phrasing of a question, or None."""
    return _SHAPES.get(_NUMBERS.sub("#", question))


def solve(question: str) -> str | None:
    """The final answer to a question, in words or in symbols; None if it is not pocket math."""
    numbers = _numbers_in(question)
    symbol = _SYMBOLS.get(question.split(" ")[0])
    found = (symbol, None) if question.endswith(" =") else recognize(question)
    if found is None or found[0] is None or len(numbers) < 2:
        return None
    problem = PocketProblem(found[0], numbers)
    return (problem.answer or None) if problem.worded(found[1]) == question else None


def _numbers_in(text: str) -> Numbers:
    found = re.findall("[0-9]+", text)
    return tuple(int(digits[-18:]) for digits in found)  # Python refuses thousands of digits


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> MathEnvironment:
    """Make `dataenvgym/Math-v0`: by default, with pocket math (validation).

    Args:
        options: those of `TaskEnvironment`.
    """
    if instances is None:
        instances = PocketMathTask(split="validation").instances
    return MathEnvironment(instances, **options)
