"""Pocket few-shot: puzzles with 3 x 3 grids, whose demonstrations follow one of eight rules.

Four rules move the cells along one axis (mirrors and shifts): most basic augmentations turn them
into other moves, so that training on these at test time teaches a mixture. Four rules erase cells
by their place, the same after any rotation or flip: there, the augmentations teach the same rule.

`pocket-few-shot-v1` carries out a rule that is named, and does not infer it: it answers a puzzle by
any of the rules. Training at test time shows it which one. It also writes self-edits: choices of
augmentations and training, at random, and not always valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pydantic import NonNegativeInt, PositiveInt

from dataenvgym.domains.few_shot.domain import FewShotDomain
from dataenvgym.domains.few_shot.environment import FewShotEnvironment
from dataenvgym.domains.few_shot.problem import (
    Cells,
    FewShotProblem,
    Grid,
    Pair,
    grid_of,
    read_problem,
    text_of,
)
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import ChatDatum, LabeledAnswer, SupervisedDatum, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import each_answer
from dataenvgym.tasks.options import PocketOptions, PromptOptions
from dataenvgym.tasks.pocket import Exercise, PocketFamily, split_by_hash
from dataenvgym.tasks.source import Split

SIDE, SHOWN = 3, 2
"""Cells along the side of a grid, and demonstrations of a puzzle."""


@dataclass(frozen=True)
class Rule:
    """A rule that turns an input grid into an output grid; `name` is its symbol in prompts."""

    name: str
    category: str
    change: Callable[[Cells], Cells]
    phrasings: tuple[str, ...] = ("{x}", "Find the rule.\n\n{x}", "Solve the last one.\n\n{x}")


_MOVES: Mapping[str, Callable[[Cells], Cells]] = {
    "flip-0": np.flipud,
    "flip-1": np.fliplr,
    "roll-0": lambda cells: np.roll(cells, 1, axis=0),
    "roll-1": lambda cells: np.roll(cells, 1, axis=1),
}
# by rule, 1 for the cells that are kept, row by row
_KEPT = {"hollow": "111101111", "corners": "101000101", "cross": "010111010", "center": "000010000"}
SKILLS: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        *(Rule(name, "moves", change) for name, change in _MOVES.items()),
        *(
            Rule(
                name, "erasures", partial(np.multiply, np.reshape([*map(int, kept)], (SIDE, SIDE)))
            )
            for name, kept in _KEPT.items()
        ),
    )
}


@dataclass(frozen=True)
class Puzzle:
    """A rule, and inputs; the last one is to be solved."""

    skill: Rule
    inputs: tuple[Grid, ...]

    @property
    def pairs(self) -> list[Pair]:
        change = self.skill.change
        return [Pair(input=g, output=grid_of(change(np.array(g)))) for g in self.inputs]

    @property
    def problem(self) -> FewShotProblem:
        *shown, last = self.pairs
        return FewShotProblem(demonstrations=tuple(shown), input=last.input)

    @property
    def answer(self) -> str:
        return text_of(self.pairs[-1].output)

    output = answer

    def worded(self, phrasing: str | None) -> str:
        """The puzzle; in symbols (None), the rule's name is in the place of demonstrations."""
        *_, unsolved = (text := self.problem.text).split("\n\n")
        return phrasing.format(x=text) if phrasing else f"{self.skill.name}\n\n{unsolved}"


class PocketFewShot(PocketFamily[Puzzle]):
    """The family; see `PocketFamily`. The splits share no input to be solved."""

    name = "pocket_few_shot"
    skills: Mapping[str, Rule] = SKILLS

    def pose(self, skill: str, split: Split, rng: np.random.Generator) -> Puzzle:
        while True:
            cells = rng.integers(1, 10, (SHOWN + 1, SIDE, SIDE))
            inputs = tuple(map(grid_of, cells))
            if split_by_hash(text_of(inputs[-1])) == split:
                return Puzzle(SKILLS[skill], inputs)

    def fields(self, problem: Puzzle, question: str, rng: np.random.Generator) -> Mapping[str, Any]:
        data = problem.problem.model_dump(mode="json")
        return {**super().fields(problem, question, rng), "data": data}

    def find(self, question: str) -> tuple[Puzzle, str] | None:
        problem = read_problem(question)
        grids = [] if problem is None else [*problem.demonstrations]
        inputs = (*(pair.input for pair in grids), *([problem.input] if problem else ()))
        if problem is None or any(np.shape(grid) != (SIDE, SIDE) for grid in inputs):
            return None
        for rule in SKILLS.values():
            if (puzzle := Puzzle(rule, inputs)).pairs[:-1] == grids:
                asked = question.replace(problem.text, "{x}")
                return (puzzle, asked) if asked in rule.phrasings else None
        return None

    def holds(self, exercise: Exercise, output: str) -> bool:
        return output.strip() == exercise.output


POCKET_FEW_SHOT = PocketFewShot()


@dataclass(frozen=True, kw_only=True)
class PocketFewShotOptions(PocketOptions, PromptOptions):
    """Options of `PocketFewShotTask`.

    Attributes:
        sampling: how the student answers.
        max_turns: the student's attempts at each puzzle.
    """

    n_train: NonNegativeInt = 400
    n_validation: NonNegativeInt = 80
    n_test: NonNegativeInt = 80
    sampling: SamplingParameters = SamplingParameters(max_tokens=16)
    student: str = "pocket-few-shot-v1"
    max_turns: PositiveInt = 1


class PocketFewShotTask(Task):
    """Pocket few-shot: puzzles with 3 x 3 grids and eight rules; nothing to download."""

    name = "pocket_few_shot"
    self_edit_engine = "grid_self_edit"

    @takes(PocketFewShotOptions)
    def __init__(self, options: PocketFewShotOptions) -> None:
        source = POCKET_FEW_SHOT.source(options.sizes, seed=options.seed)
        domain = PocketFewShotDomain(options.prompt, max_turns=options.max_turns)
        self.set_up(source, domain, options)


class PocketFewShotDomain(FewShotDomain):
    """Few-shot problems whose rules it knows, so that it can judge records."""

    family = POCKET_FEW_SHOT

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a problem with its own output; its skill is the rule that it follows."""
        problem = super().problem_of_record(record)
        known = POCKET_FEW_SHOT.find(problem.instruction) if problem else None
        if problem is None or known is None:
            return problem
        rule = known[0].skill
        return problem.model_copy(update={"skill": rule.name, "category": rule.category})

    @each_answer
    def judge_record(self, answer: LabeledAnswer) -> bool | None:
        """Whether its grids follow the rule; None if it is not one to a puzzle of the family."""
        known = POCKET_FEW_SHOT.read(self.prompt_template.instruction_in(answer.question))
        return POCKET_FEW_SHOT.holds(known, answer.text) if known else None


def make_default(
    instances: Sequence[TaskInstance] | None = None, **options: Any
) -> FewShotEnvironment:
    """Make `dataenvgym/FewShot-v0`: by default, with pocket few-shot (validation).

    Args:
        options: those of `FewShotEnvironment`.
    """
    if instances is None:
        instances = PocketFewShotTask().instances
    return FewShotEnvironment(instances, **options)
