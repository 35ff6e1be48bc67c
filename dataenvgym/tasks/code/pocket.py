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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Unpack

import numpy as np

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.sandbox import Limits
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.code.domain import CodeDomain, CodeTaskOptions, parted
from dataenvgym.tasks.code.pocket_skills import SKILLS, PocketCodeSkill
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
