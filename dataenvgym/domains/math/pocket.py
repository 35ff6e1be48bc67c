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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.environment import MathEnvironment
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import LabeledAnswer, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, each_answer, gives
from dataenvgym.tasks.options import PocketOptions, PromptOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.scoring import answers_equal, extract_final_answer
from dataenvgym.tasks.source import Split

Numbers = tuple[int, ...]


@dataclass(frozen=True)
class PocketSkill:
    """One procedure: how to draw its operands, to solve it and to ask for it.

    `draw` returns all numbers in the order in which they appear in the question. Phrasings name
    them: `{xs}` is the list, `{k}` the number that comes before or after it, `{a}` and `{b}` the
    two operands of a sum.
    """

    name: str
    category: str
    symbol: str
    phrasings: tuple[str, ...]
    draw: Callable[[np.random.Generator], Numbers]
    solve: Callable[[Numbers], Sequence[int] | int]

    def answer(self, numbers: Numbers) -> str:
        """The final answer: an integer, or digits separated by spaces."""
        solved = self.solve(numbers)
        return str(solved) if isinstance(solved, int) else spaced(solved)


# --- operands -----------------------------------------------------------------------------------


def spaced(numbers: Sequence[int]) -> str:
    """The numbers with spaces between them."""
    return " ".join(map(str, numbers))


def _list(
    low: int, high: int, *, smallest: int = 0, largest: int = 9
) -> Callable[[np.random.Generator], Numbers]:
    """Lists of `low` to `high` digits, each from `smallest` to `largest`."""

    def draw(rng: np.random.Generator) -> Numbers:
        size = int(rng.integers(low, high + 1))
        return tuple(rng.integers(smallest, largest + 1, size).tolist())

    return draw


def _mixed(rng: np.random.Generator) -> Numbers:
    """Lists of 4 to 6 digits with at least one even and one odd digit."""
    numbers = _list(4, 6)(rng)
    return numbers if len({n % 2 for n in numbers}) == 2 else _mixed(rng)


def _list_and_member(rng: np.random.Generator) -> Numbers:
    """A list of 4 to 6 digits, some of them twice, and a digit that occurs in it."""
    size = int(rng.integers(4, 7))
    member, *others = rng.choice(10, 4, replace=False).tolist()
    numbers = [member, others[0], *rng.choice([member, *others], size - 2).tolist()]
    rng.shuffle(numbers)
    return (*numbers, member)


def _list_and_threshold(rng: np.random.Generator) -> Numbers:
    """A list of 4 to 6 digits and a threshold below at least one of them."""
    numbers = _list(4, 6)(rng)
    top = max(numbers)
    return _list_and_threshold(rng) if top == 0 else (*numbers, int(rng.integers(0, top)))


_SKILLS = (
    # order
    PocketSkill("ascending", "order", "asc", (
        "Put {xs} in rising order.", "Sort {xs} in rising order.", "Give {xs} in rising order.",
    ), _list(4, 6), sorted),
    PocketSkill("descending", "order", "desc", (
        "Put {xs} in falling order.", "Sort {xs} in falling order.",
        "Give {xs} in falling order.",
    ), _list(4, 6), lambda xs: sorted(xs, reverse=True)),
    PocketSkill("reversed", "order", "rev", (
        "Write {xs} backwards.", "Read {xs} backwards.", "Give {xs} backwards.",
    ), _list(4, 6), lambda xs: xs[::-1]),
    PocketSkill("rotated", "order", "rot", (
        "Move the first of {xs} to the end.", "Put the first of {xs} at the end.",
        "Write {xs} with the first at the end.",
    ), _list(4, 6), lambda xs: (*xs[1:], xs[0])),
    PocketSkill("swapped", "order", "swap", (
        "Swap the outer digits of {xs}.", "Exchange the outer digits of {xs}.",
        "Write {xs} with outer digits exchanged.",
    ), _list(4, 6), lambda xs: (xs[-1], *xs[1:-1], xs[0])),
    # selection
    PocketSkill("largest", "selection", "max", (
        "What is the largest of {xs}?", "Find the largest of {xs}.", "Of {xs} name the largest.",
    ), _list(4, 6), max),
    PocketSkill("smallest", "selection", "min", (
        "What is the smallest of {xs}?", "Find the smallest of {xs}.",
        "Of {xs} name the smallest.",
    ), _list(4, 6), min),
    PocketSkill("second", "selection", "snd", (
        "What comes second in {xs}?", "Find the second of {xs}.", "Of {xs} name the second.",
    ), _list(4, 6), lambda xs: xs[1]),
    PocketSkill("middle", "selection", "mid", (
        "What is in the middle of {xs}?", "Find the middle of {xs}.", "Of {xs} name the middle.",
    ), _list(5, 5), lambda xs: xs[len(xs) // 2]),
    # filtering
    PocketSkill("evens", "filtering", "even", (
        "Keep the even numbers of {xs}.", "Which of {xs} are even?",
        "From {xs} select what is even.",
    ), _mixed, lambda xs: [x for x in xs if x % 2 == 0]),
    PocketSkill("odds", "filtering", "odd", (
        "Keep the odd numbers of {xs}.", "Which of {xs} are odd?",
        "From {xs} select what is odd.",
    ), _mixed, lambda xs: [x for x in xs if x % 2]),
    PocketSkill("above", "filtering", "gt", (
        "Which of {xs} exceed {k}?", "Keep the numbers of {xs} that exceed {k}.",
        "From {xs} select those that exceed {k}.",
    ), _list_and_threshold, lambda ns: [x for x in ns[:-1] if x > ns[-1]]),
    PocketSkill("without", "filtering", "del", (
        "From {xs} delete every {k}.", "Write {xs} and delete each {k}.",
        "What is left of {xs} if you delete {k}?",
    ), _list_and_member, lambda ns: [x for x in ns[:-1] if x != ns[-1]]),
    # counting
    PocketSkill("length", "counting", "len", (
        "How long is {xs}?", "Say how long {xs} is.", "Tell me how long the list {xs} is.",
    ), _list(3, 8), len),
    PocketSkill("even_count", "counting", "evens", (
        "In {xs} how many can be halved?", "Count those in {xs} that can be halved.",
        "Tell me how many of {xs} can be halved.",
    ), _mixed, lambda xs: sum(x % 2 == 0 for x in xs)),
    PocketSkill("occurrences", "counting", "occ", (
        "In {xs} how frequent is {k}?", "Given {xs} say how frequent {k} is.",
        "Looking at {xs} how frequent is the digit {k}?",
    ), _list_and_member, lambda ns: ns[:-1].count(ns[-1])),
    # arithmetic
    PocketSkill("sum", "arithmetic", "add", (
        "What is {a} plus {b}?", "Find {a} plus {b}.", "Tell me {a} plus {b}.",
    ), lambda rng: tuple(rng.integers(2, 50, 2).tolist()), lambda ns: ns[0] + ns[1]),
    PocketSkill("total", "arithmetic", "tot", (
        "What is the total of {xs}?", "Find the total of {xs}.", "Of {xs} name the total.",
    ), _list(3, 4), lambda xs: sum(xs)),
    PocketSkill("incremented", "arithmetic", "inc", (
        "Increase each of {xs} by one.", "Increase all of {xs} by one.",
        "Write {xs} with all increased by one.",
    ), _list(3, 5, largest=8), lambda xs: [x + 1 for x in xs]),
    PocketSkill("decremented", "arithmetic", "dec", (
        "Lower each of {xs} by one.", "Lower all of {xs} by one.",
        "Write {xs} with all lowered by one.",
    ), _list(3, 5, smallest=1), lambda xs: [x - 1 for x in xs]),
)  # fmt: skip

SKILLS: dict[str, PocketSkill] = {skill.name: skill for skill in _SKILLS}


# --- the task and its problems --------------------------------------------------------------------


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
        self.set_up(source, PocketMathDomain(options.prompt), options)


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
        found = recognize(question)
        return found and (PocketProblem(found[0], _numbers_in(question)), found[1])

    def holds(self, exercise: Exercise, output: str) -> bool:
        answer = extract_final_answer(output)
        gold = SKILLS[exercise.skill].answer(_numbers_in(exercise.question))
        return answer is not None and answers_equal(gold, answer)


POCKET_MATH = PocketMath()


class PocketMathDomain(MathDomain):
    """Math problems that it can solve by itself, so that it can judge records on them."""

    family = POCKET_MATH

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
        return spaced(operands_of(text)) or Domain.overlap_key(self, text)


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
