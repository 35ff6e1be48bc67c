"""The interface of rewriters of seed records, and the rule-based one for the pocket families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import SupervisedDatum
from dataenvgym.tasks.pocket import Exercise, family_of

Operands = Literal["same", "other", "mixed"]


@runtime_checkable
class Rewriter(Protocol):
    """Makes new records from seeds."""

    def reads(self, seed: SupervisedDatum) -> bool:
        """True if it could rewrite such a seed."""
        ...

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> Sequence[SupervisedDatum | None]:
        """Rewrite each seed, in order; None where no right rewrite was found.

        Raises:
            BudgetSpentError: if it needs a teacher and the budget allows no request at all.
        """
        ...


class PocketRewriter:
    """Rewrites exercises of a pocket family, and works out their answers.

    Seeds whose output is wrong are not rewritten.

    Args:
        operands: "same" asks the same in other words; "other" asks in the same words about other
            operands of the training split (numbers; for code, names); "mixed" chooses one of the
            two at random.
        task: a task of the pocket family.
    """

    def __init__(self, operands: Operands = "mixed", *, task: TaskInterface) -> None:
        if operands not in get_args(Operands):
            raise ConfigurationError(
                f"operands is {operands!r}, expected one of {', '.join(get_args(Operands))}."
                f"{did_you_mean(str(operands), get_args(Operands))}"
            )
        self.operands = operands
        self._family = family_of(task)

    def reads(self, seed: SupervisedDatum) -> bool:
        return self._exercise_in(seed) is not None

    def rewrite(
        self, seeds: Sequence[SupervisedDatum], rng: np.random.Generator
    ) -> list[SupervisedDatum | None]:
        return [self._rewritten(seed, rng) for seed in seeds]

    def _rewritten(self, seed: SupervisedDatum, rng: np.random.Generator) -> SupervisedDatum | None:
        if (exercise := self._exercise_in(seed)) is None:
            return None
        same = self.operands == "same" or (self.operands == "mixed" and rng.random() < 0.5)
        if same:
            phrasings = self._family.phrasings[exercise.skill]
            others = [p for p in phrasings if p != exercise.phrasing]
            new = self._family.reworded(exercise, others[int(rng.integers(len(others)))])
        else:
            new = self._family.draw(exercise.skill, "train", rng, phrasing=exercise.phrasing)
        return seed.model_copy(update={"instruction": new.question, "output": new.output})

    def _exercise_in(self, seed: SupervisedDatum) -> Exercise | None:
        """The exercise of a seed, if the seed's output is right."""
        exercise = self._family.read(seed.instruction)
        right = exercise is not None and self._family.holds(exercise, seed.output)
        return exercise if right else None
