"""What a rewrite of a seed record is, and the procedural one for pocket math."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import SupervisedDatum
from dataenvgym.scoring import answers_equal, extract_final_answer
from dataenvgym.tasks.math.pocket_skills import PocketProblem, draw_problem, recognize

Operands = Literal["same", "other", "mixed"]


@runtime_checkable
class Rewriter(Protocol):
    """Makes new records of seeds."""

    def reads(self, seed: SupervisedDatum) -> bool:
        """Whether it could rewrite such a seed."""
        ...

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> Sequence[SupervisedDatum | None]:
        """One record for each seed, in their order; None where it has none that is right.

        Raises:
            BudgetSpentError: if it asks a teacher and nothing at all could be asked.
        """
        ...


class PocketRewriter:
    """Rewrites pocket math problems, whose answers it can work out.

    Args:
        operands: "same" asks the same in other words; "other" asks in the same words about other
            numbers of the training split; "mixed" does one or the other, by chance. Seeds whose
            output is wrong are not rewritten.
    """

    def __init__(self, operands: Operands = "mixed") -> None:
        if operands not in get_args(Operands):
            raise ConfigurationError(
                f"operands is {operands!r}, expected one of {', '.join(get_args(Operands))}."
                f"{did_you_mean(str(operands), get_args(Operands))}"
            )
        self.operands = operands

    def reads(self, seed: SupervisedDatum) -> bool:
        return _problem_in(seed) is not None

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> list[SupervisedDatum | None]:
        return [self._rewritten(seed, rng) for seed in seeds]

    def _rewritten(self, seed: SupervisedDatum, rng: np.random.Generator) -> SupervisedDatum | None:
        if (found := _problem_in(seed)) is None:
            return None
        problem, phrasing = found
        same = self.operands == "same" or (self.operands == "mixed" and rng.random() < 0.5)
        if same:
            others = [p for p in problem.skill.phrasings if p != phrasing]
            question = problem.skill.question(
                problem.numbers, others[int(rng.integers(len(others)))]
            )
            problem = PocketProblem(problem.skill, problem.numbers, question)
        else:
            problem = draw_problem(problem.skill, "train", rng, phrasing=phrasing)
        return seed.model_copy(update={"instruction": problem.question, "output": problem.output})


def _problem_in(seed: SupervisedDatum) -> tuple[PocketProblem, str] | None:
    """The problem of a seed and its phrasing, if the seed's output is right."""
    if (known := recognize(seed.instruction)) is None:
        return None
    skill, phrasing = known
    numbers = tuple(int(digits) for digits in re.findall(r"[0-9]+", seed.instruction))
    answer = extract_final_answer(seed.output)
    if answer is None or not answers_equal(skill.answer(numbers), answer):
        return None
    return PocketProblem(skill, numbers, seed.instruction), phrasing
