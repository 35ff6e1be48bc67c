"""Pocket code: the small, seeded, procedural family of the code domain.

Short Python functions of one argument, asked for in plain words: 20 skills in 5 categories. A
`PocketCodeSkill` is one expression. The question names the function and its argument, and says
what to return, in symbols (`max solve(xs) =`) or in one of several plain-word phrasings ("Write
solve(xs) that returns the biggest item."). Some skills take a digit ("the items above 5"). Hidden
calls judge the function in the sandbox.

Training, validation and test never share names: `split_of` assigns a pair of a function's and an
argument's name to exactly one split, whatever the skill.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Unpack

import numpy as np

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.sandbox import Limits
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.code.domain import CodeDomain, CodeTaskOptions, parted
from dataenvgym.tasks.code.problem import CallTest, CodeProblem
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.source import Split

GREEDY = SamplingParameters(max_tokens=40)
LIMITS = Limits(seconds=3.0, memory=256 * 2**20)
CALLS = 4
"""Hidden calls of each problem: enough to tell every two skills apart."""

FUNCTIONS = (
    "solve", "answer", "make", "build", "run", "work", "get", "compute", "helper", "main",
    "process", "handle", "task", "apply", "result", "create", "derive", "obtain", "produce",
    "convert", "extract", "prepare", "serve", "step",
)  # fmt: skip
ARGUMENTS = (
    "xs", "ys", "data", "values", "given", "source", "entry", "record", "thing", "stuff", "parts",
    "content", "series", "batch", "input", "row",
)  # fmt: skip

Signature = tuple[str, str]
"""The names of a function and of its argument."""


class PocketCodeTask(Task):
    """Problems of pocket code, the skills in equal shares.

    Args:
        n_train, n_validation, n_test: how many problems each split has.
        seed: which problems. The default evaluation sets are those of the published figures.
        sampling: how the student answers; the longest answer takes 23 tokens.
        limits: of each run; its functions need a fraction of them.
        options: those of `CodeDomain` and of `Task`.
    """

    name = "pocket_code"

    def __init__(
        self,
        *,
        n_train: int = 2000,
        n_validation: int = 400,
        n_test: int = 400,
        seed: int = 0,
        sampling: SamplingParameters = GREEDY,
        limits: Limits | Mapping[str, Any] = LIMITS,
        **options: Unpack[CodeTaskOptions],
    ):
        of_domain, others = parted(options)
        domain = PocketCodeDomain(partial(training_problems, self), limits=limits, **of_domain)
        source = POCKET_CODE.source(
            n_train=n_train, n_validation=n_validation, n_test=n_test, seed=seed
        )
        super().__init__(source, domain, sampling=sampling, **others)


class PocketCodeDomain(CodeDomain):
    """Code problems of the family, which it knows by their questions."""

    @property
    def family(self) -> PocketCode:
        return POCKET_CODE

    def known_problem(self, question: str) -> CodeProblem | None:
        """A problem that is known, or one of the family, with calls of its own."""
        if (known := super().known_problem(question)) is not None:
            return known
        if (found := POCKET_CODE.find(question)) is None:
            return None
        return _judged_by(found[0], derive_rng(0, POCKET_CODE.name, "calls", question))

    def overlap_key(self, text: str) -> str:
        """Two problems with the same names are the same; without such names, the same words."""
        signature = signature_in(text)
        return "{}({})".format(*signature) if signature else super().overlap_key(text)


@dataclass(frozen=True)
class PocketCodeSkill:
    """One function: its result, and the wordings that ask for it.

    `expression` and `wants` hold `{a}` for the argument and `{k}` for a digit, where there is one;
    `arguments` makes a random argument to call it with.
    """

    name: str
    category: str
    symbol: str
    wants: tuple[str, str, str]
    expression: str
    arguments: Callable[[np.random.Generator], Any]

    @property
    def has_digit(self) -> bool:
        return "{k}" in self.expression

    @property
    def phrasings(self) -> tuple[str, ...]:
        """The frames filled with the wanted result; `{f}`, `{a}` and `{k}` are left open."""
        return tuple(
            frame.replace("{wanted}", wanted)
            for frame, wanted in zip(_FRAMES, self.wants, strict=True)
        )


@dataclass(frozen=True)
class PocketCodeProblem:
    """A skill with names and, where it takes one, a digit (else 0)."""

    skill: PocketCodeSkill
    signature: Signature
    digit: int

    @property
    def output(self) -> str:
        """The gold reply: the whole function."""
        f, a = self.signature
        expression = self.skill.expression.format(a=a, k=self.digit)
        return f"def {f}({a}):\n    return {expression}"

    @property
    def answer(self) -> str:
        return self.output

    def worded(self, phrasing: str | None) -> str:
        """In symbols, e.g. `max solve(xs) =`, `over solve(xs) 5 =`, if there is no phrasing."""
        f, a = self.signature
        if phrasing is not None:
            return phrasing.format(f=f, a=a, k=self.digit)
        digit = f" {self.digit}" if self.skill.has_digit else ""
        return f"{self.skill.symbol} {f}({a}){digit} ="


class PocketCode(PocketFamily[PocketCodeProblem]):
    """The family; see `PocketFamily`."""

    name = "pocket_code"

    @property
    def skills(self) -> Mapping[str, PocketCodeSkill]:
        return SKILLS

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> PocketCodeProblem:
        signatures = signatures_of(split)
        signature = signatures[int(rng.integers(len(signatures)))]
        digit = int(rng.integers(2, 10)) if SKILLS[skill].has_digit else 0
        return PocketCodeProblem(SKILLS[skill], signature, digit)

    def find(self, question: str) -> tuple[PocketCodeProblem, str] | None:
        if (signature := signature_in(question)) is None:
            return None
        shape = question.replace("{}({})".format(*signature), "{f}({a})")
        digits = re.findall("[0-9]", shape)
        found = _shapes().get(re.sub("[0-9]", "{k}", shape))
        if found is None:
            return None
        skill, phrasing = found
        problem = PocketCodeProblem(skill, signature, int(digits[0]) if digits else 0)
        return (problem, phrasing) if problem.worded(phrasing) == question else None

    def holds(self, exercise: Exercise, output: str) -> bool:
        """Whether it is the family's own solution, up to spaces and the like."""
        try:
            return ast.dump(ast.parse(output)) == ast.dump(ast.parse(exercise.output))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False

    def fields(self, problem: PocketCodeProblem, rng: np.random.Generator) -> Mapping[str, Any]:
        return {**super().fields(problem, rng), "data": _judged_by(problem, rng).data()}


POCKET_CODE = PocketCode()


@cache
def signatures_of(split: Split) -> tuple[Signature, ...]:
    """The pairs of names that belong to a split."""
    return tuple((f, a) for f in FUNCTIONS for a in ARGUMENTS if split_of((f, a)) == split)


def split_of(signature: Signature) -> Split:
    """The one split that problems with these names belong to."""
    return split_by_hash("pocket-code {}({})".format(*signature))


_FRAMES = (
    "Write {f}({a}) that returns {wanted}.",
    "Define {f}({a}) to give {wanted}.",
    "I need {f}({a}) for {wanted}.",
)


# --- what a question asks for, read from its text alone ------------------------------------------

_CALL = re.compile(r"(\w+)\((\w+)\)")


def signature_in(text: str) -> Signature | None:
    """The first `name(argument)` in a text that pocket code has names for."""
    for f, a in _CALL.findall(text):
        if f in FUNCTIONS and a in ARGUMENTS:
            return f, a
    return None


@cache
def _shapes() -> dict[str, tuple[PocketCodeSkill, str]]:
    return {
        phrasing: (skill, phrasing) for skill in SKILLS.values() for phrasing in skill.phrasings
    }


# --- the tests of a problem -----------------------------------------------------------------------


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
    """The value of an expression of our own skills."""
    return eval(expression, {argument: value})


# --- arguments to call it with ------------------------------------------------------------------


def _numbers(rng: np.random.Generator) -> list[int]:
    """4 to 7 integers from -12 to 12, not sorted, one of them twice, even and odd ones."""
    size = int(rng.integers(3, 7))
    numbers: list[int] = rng.integers(-12, 13, size).tolist()
    numbers.append(numbers[0])
    rng.shuffle(numbers)
    telling = numbers != sorted(numbers) and numbers != sorted(numbers, reverse=True)
    return numbers if telling and len({n % 2 for n in numbers}) == 2 else _numbers(rng)


def _digits(rng: np.random.Generator) -> list[int]:
    """The digits 0 to 10 in random order: whatever the threshold, some are above it."""
    numbers: list[int] = rng.permutation(11).tolist()
    return numbers


_WORDS = ("Pine", "oak", "River", "stone", "leaf", "Cloud", "rain", "Fern")


def _text(rng: np.random.Generator) -> str:
    """2 to 4 different words with spaces between them; one begins with a capital, not all do."""
    words = rng.choice(_WORDS, int(rng.integers(2, 5)), replace=False).tolist()
    return " ".join(words) if len({w[0].isupper() for w in words}) == 2 else _text(rng)


_SKILLS = (
    # folding a list
    PocketCodeSkill(
        "maximum", "folding", "max",
        ("the biggest item", "the item that is biggest", "the biggest of the items"),
        "max({a})", _numbers,
    ),
    PocketCodeSkill(
        "minimum", "folding", "min",
        ("the tiniest item", "the item that is tiniest", "the tiniest of the items"),
        "min({a})", _numbers,
    ),
    PocketCodeSkill(
        "summed", "folding", "sum",
        ("all items added up", "the items added up", "what the items make added up"),
        "sum({a})", _numbers,
    ),
    PocketCodeSkill(
        "distinct_count", "folding", "uniq",
        ("how many distinct items there are", "how many items are distinct",
         "the number of distinct items"),
        "len(set({a}))", _numbers,
    ),
    # order
    PocketCodeSkill(
        "sorted_up", "ordering", "up",
        ("the items arranged upward", "the items going upward", "an upward list of the items"),
        "sorted({a})", _numbers,
    ),
    PocketCodeSkill(
        "sorted_down", "ordering", "down",
        ("the items arranged downward", "the items going downward",
         "a downward list of the items"),
        "sorted({a}, reverse=True)", _numbers,
    ),
    PocketCodeSkill(
        "flipped", "ordering", "flip",
        ("the items flipped around", "the flipped items", "a flipped list of the items"),
        "{a}[::-1]", _numbers,
    ),
    PocketCodeSkill(
        "tail", "ordering", "tail",
        ("the items but the opening one", "the items after the opening one",
         "a list without the opening item"),
        "{a}[1:]", _numbers,
    ),
    # choice
    PocketCodeSkill(
        "even_items", "choosing", "even",
        ("the items that two divides", "those items that two divides",
         "a list of items that two divides"),
        "[x for x in {a} if x % 2 == 0]", _numbers,
    ),
    PocketCodeSkill(
        "positive_items", "choosing", "pos",
        ("the positive items", "those items that are positive", "a list of positive items"),
        "[x for x in {a} if x > 0]", _numbers,
    ),
    PocketCodeSkill(
        "items_over", "choosing", "over",
        ("the items over {k}", "those items that are over {k}", "a list of items over {k}"),
        "[x for x in {a} if x > {k}]", _digits,
    ),
    PocketCodeSkill(
        "items_under", "choosing", "under",
        ("the items under {k}", "those items that are under {k}", "a list of items under {k}"),
        "[x for x in {a} if x < {k}]", _digits,
    ),
    # changing every item
    PocketCodeSkill(
        "raised", "changing", "plus",
        ("every item raised by {k}", "the items raised by {k} each",
         "a list with every item raised by {k}"),
        "[x + {k} for x in {a}]", _numbers,
    ),
    PocketCodeSkill(
        "scaled", "changing", "times",
        ("every item scaled by {k}", "the items scaled by {k} each",
         "a list with every item scaled by {k}"),
        "[x * {k} for x in {a}]", _numbers,
    ),
    PocketCodeSkill(
        "squared", "changing", "square",
        ("every item squared", "the items squared each", "a list with every item squared"),
        "[x * x for x in {a}]", _numbers,
    ),
    PocketCodeSkill(
        "negated", "changing", "neg",
        ("every item with its sign changed", "the items with each sign changed",
         "a list with every sign changed"),
        "[-x for x in {a}]", _numbers,
    ),
    # text
    PocketCodeSkill(
        "capitals", "text", "caps",
        ("the text in capitals", "capitals for the whole text", "the same text in capitals"),
        "{a}.upper()", _text,
    ),
    PocketCodeSkill(
        "word_count", "text", "words",
        ("how many words the text has", "the number of words of the text",
         "a number that says how many words there are"),
        "len({a}.split())", _text,
    ),
    PocketCodeSkill(
        "repeated", "text", "rep",
        ("the text {k} times over", "{k} times the text", "the same text {k} times"),
        "{a} * {k}", _text,
    ),
    PocketCodeSkill(
        "last_word", "text", "last",
        ("the closing word of the text", "the closing word", "the word closing the text"),
        "{a}.split()[-1]", _text,
    ),
)  # fmt: skip

SKILLS: dict[str, PocketCodeSkill] = {skill.name: skill for skill in _SKILLS}
CATEGORIES: tuple[str, ...] = tuple(dict.fromkeys(skill.category for skill in _SKILLS))
