"""Pocket code: the small, seeded, procedural family of the code domain.

Short Python functions of one argument, described in plain words: 20 skills in 5 categories. A
`PocketCodeSkill` is one expression. The question names the function and its argument, and describes
the result in symbols (`max solve(xs) =`) or in one of several plain-word phrasings ("Write
solve(xs) that returns the biggest item."). Some skills take a digit ("the items above 5"). Hidden
calls judge the function in the sandbox.

For language models, `wording="english"` asks for the same functions in plain English, with names
that say what they do ("Write a Python function largest(numbers) that returns ...").

Training, validation and test never share names: `split_of` assigns each pair of a function's and an
argument's name to exactly one split, for all skills.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal

import numpy as np

from dataenvgym.domains.code.domain import CodeDomain
from dataenvgym.domains.code.environment import CodeEnvironment, CodeOptions
from dataenvgym.domains.code.pocket_skills import ENGLISH_SKILLS, SKILLS, PocketCodeSkill
from dataenvgym.domains.code.problem import CallTest, CodeProblem
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import taken_from, takes
from dataenvgym.records import TaskInstance
from dataenvgym.sandbox import Limits
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.base import Task, training_problems
from dataenvgym.tasks.options import PocketOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.scoring.code.syntax import parse
from dataenvgym.tasks.source import Split

LIMITS = Limits(seconds=3.0, memory=256 * 2**20)
CALLS = 4
"""Hidden calls of each problem: enough to distinguish any two skills."""

Signature = tuple[str, str]
"""The names of a function and of its argument."""
Wording = Literal["pocket", "english"]


@dataclass(frozen=True, kw_only=True)
class PocketCodeOptions(PocketOptions, CodeOptions):
    """Options of `PocketCodeTask`.

    Attributes:
        sampling: how the student answers; the longest answer takes 23 tokens.
        limits: of each run; the functions need only a fraction of them.
        wording: of the questions: `pocket` (the words that pocket students know) or `english`, for
            language models.
    """

    sampling: SamplingParameters = SamplingParameters(max_tokens=40)
    limits: Limits | Mapping[str, Any] = LIMITS
    wording: Wording = "pocket"


class PocketCodeTask(Task):
    """Pocket code: 20 small Python functions in 5 categories, judged in the sandbox."""

    name = "pocket_code"

    @takes(PocketCodeOptions)
    def __init__(self, options: PocketCodeOptions) -> None:
        family = ENGLISH_CODE if options.wording == "english" else POCKET_CODE
        source = family.source(options.sizes, seed=options.seed)
        domain = PocketCodeDomain(partial(training_problems, self), options, family)
        self.set_up(source, domain, options)


class PocketCodeDomain(CodeDomain):
    """Code problems of the family, which it recognizes by their questions."""

    def __init__(
        self, known: Callable[[], Iterable[TaskInstance]], options: CodeOptions, family: PocketCode
    ) -> None:
        super().__init__(known, options)
        self.family = family

    def known_problem(self, question: str) -> CodeProblem | None:
        """A known problem, or one of the family, with calls of its own."""
        if (known := super().known_problem(question)) is not None:
            return known
        if (found := self.family.find(question)) is None:
            return None
        return _judged_by(found[0], derive_rng(0, self.family.name, "calls", question))

    def overlap_key(self, text: str) -> str:
        """Two problems with the same names are the same; without such names, the same words."""
        signature = self.family.signature_in(text)
        return "{}({})".format(*signature) if signature else super().overlap_key(text)


@dataclass(frozen=True)
class PocketCodeProblem:
    """A skill with names and a digit (0 if the skill takes none)."""

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
        """The question in that phrasing; None is in symbols, e.g. `over solve(xs) 5 =`."""
        f, a = self.signature
        if phrasing is not None:
            return phrasing.format(f=f, a=a, k=self.digit)
        digit = f" {self.digit}" if self.skill.has_digit else ""
        return f"{self.skill.symbol} {f}({a}){digit} ="


class PocketCode(PocketFamily[PocketCodeProblem]):
    """The family, in pocket words or in plain English; see `PocketFamily`."""

    skills: Mapping[str, PocketCodeSkill] = SKILLS

    def __init__(self, name: str, skills: Mapping[str, PocketCodeSkill]) -> None:
        self.name, self.skills = name, skills

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> PocketCodeProblem:
        posed = self.skills[skill]
        signatures = signatures_of(posed, split)
        signature = signatures[int(rng.integers(len(signatures)))]
        digit = int(rng.integers(2, 10)) if posed.has_digit else 0
        return PocketCodeProblem(posed, signature, digit)

    def find(self, question: str) -> tuple[PocketCodeProblem, str] | None:
        if (signature := self.signature_in(question)) is None:
            return None
        shape = question.replace("{}({})".format(*signature), "{f}({a})")
        digits = re.findall("[0-9]", shape)
        found = self._shapes.get(re.sub("[0-9]", "{k}", shape))
        if found is None:
            return None
        skill, phrasing = found
        problem = PocketCodeProblem(skill, signature, int(digits[0]) if digits else 0)
        return (problem, phrasing) if problem.worded(phrasing) == question else None

    def signature_in(self, text: str) -> Signature | None:
        """The first `name(argument)` in a text whose names belong to the family."""
        return next((call for call in _CALL.findall(text) if call in self._signatures), None)

    @cached_property
    def _signatures(self) -> frozenset[Signature]:
        return frozenset(each for skill in self.skills.values() for each in skill.signatures)

    @cached_property
    def _shapes(self) -> Mapping[str, tuple[PocketCodeSkill, str]]:
        return {
            words: (skill, words) for skill in self.skills.values() for words in skill.phrasings
        }

    def holds(self, exercise: Exercise, output: str) -> bool:
        """Whether it is the family's own solution, except for layout."""
        try:
            return ast.dump(parse(output)) == ast.dump(parse(exercise.output))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False

    def fields(
        self, problem: PocketCodeProblem, question: str, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        data = _judged_by(problem, rng).data()
        return {**super().fields(problem, question, rng), "data": data}


POCKET_CODE = PocketCode("pocket_code", SKILLS)
ENGLISH_CODE = PocketCode("english_code", ENGLISH_SKILLS)
_CALL = re.compile(r"\b(\w++)\((\w++)\)")


@cache
def signatures_of(skill: PocketCodeSkill, split: Split) -> tuple[Signature, ...]:
    """The pairs of names of a skill that belong to a split."""
    return tuple(pair for pair in skill.signatures if split_of(pair) == split)


def split_of(signature: Signature) -> Split:
    """The one split that problems with these names belong to."""
    return split_by_hash("pocket-code {}({})".format(*signature))


# --- the tests of a problem -----------------------------------------------------------------------


def _judged_by(problem: PocketCodeProblem, rng: np.random.Generator) -> CodeProblem:
    """The problem with hidden calls; the right function computes their results."""
    function, argument = problem.signature
    arguments = [problem.skill.arguments(rng) for _ in range(CALLS)]
    expression = problem.skill.expression.format(a=argument, k=problem.digit)
    return CodeProblem(
        entry_point=function,
        hidden=tuple(
            CallTest(args=(value,), expected=eval(expression, {argument: value}))
            for value in arguments
        ),
        solution=problem.output,
    )


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> CodeEnvironment:
    """Make `dataenvgym/Code-v0`: by default, with pocket code (validation).

    Args:
        options: `render_mode`, and those of `CodeOptions`.
    """
    if instances is None:
        instances, options = PocketCodeTask().instances, {"limits": LIMITS, **options}
    code = taken_from(options, CodeOptions)
    return CodeEnvironment(instances, code, **options)
