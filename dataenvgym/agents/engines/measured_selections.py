"""Selections by losses and gradients of the student, and by the distance between records.

- `LossSelection`: the highest loss.
- `LossDifferenceSelection`: the loss that the student can still lose (RHO-LOSS).
- `GradientSelection`: the influence on the validation problems (LESS).
- `DiverseSelection`: the records farthest from all that were taken (k-center).

The targets of the second and third are the gold answers of the validation split. The test split is
never read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le
from pydantic import PositiveInt

from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.agents.engines.record_pool import Candidates
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import AblePredictor, can
from dataenvgym.records import TrainingDatum
from dataenvgym.records.plans import EngineFit
from dataenvgym.tasks.base import Task


class _MeasuredSelection(ABC):
    """Measures every candidate with the student; chance breaks ties.

    Attributes:
        measure: names the scores, in the provenance of the selected records.
    """

    fit = EngineFit(needs="counts", measures=True)
    measure: ClassVar[str]

    def score(self, asked: Candidates) -> list[np.ndarray]:
        if not can(asked.student, "losses", "influences"):
            raise ConfigurationError(
                f"{type(self).__name__} asks the student for losses or gradients, and "
                f"{type(asked.student).__name__} gives none: use predictor=in_process"
            )
        positions = np.unique(np.concatenate(asked.positions)).tolist()
        values = np.zeros(len(asked.pool.records))
        if positions:
            values[positions] = self.measured(asked, positions, asked.student)
        return asked.with_chance(values, 1e-9)

    @abstractmethod
    def measured(
        self, asked: Candidates, positions: list[int], student: AblePredictor
    ) -> Sequence[float]:
        """The values of the records at these positions; the highest are selected."""


class LossSelection(_MeasuredSelection):
    """The records with the highest loss of the student: the mean over the answer's tokens.

    It is the criterion of online batch selection (Loshchilov and Hutter 2016, arXiv 1511.06343),
    applied to the whole pool at once; for a language model, the highest perplexity.
    """

    measure = "loss"

    def measured(
        self, asked: Candidates, positions: list[int], student: AblePredictor
    ) -> Sequence[float]:
        return student.losses([asked.pool.records[i] for i in positions])


@dataclass(eq=False)
class _WithTargets(_MeasuredSelection):
    """A selection that aims at the gold answers of the validation split.

    Args:
        task: the task with that split.
    """

    task: Task

    def _targets(self) -> list[list[TrainingDatum]]:
        """The gold records of each skill of the validation split; those without one together."""
        groups: defaultdict[str, list[TrainingDatum]] = defaultdict(list)
        for record in gold_records(self.task, self.task.on("validation").instances):
            groups[record.provenance.skill or ""].append(record)
        if not groups:
            raise ConfigurationError(
                f"no validation problem of task {self.task.name!r} has a gold answer to aim at: "
                "use agent=pool_loss, pool_diverse or pool_random"
            )
        return [groups[skill] for skill in sorted(groups)]


class LossDifferenceSelection(_WithTargets):
    """The records with the highest reducible loss (RHO-LOSS, Mindermann et al. 2022).

    It is the loss of the student minus that of a reference, the untouched student after a training
    on the gold answers of the validation split (arXiv 2206.07137, equation 3). Noise has a high
    loss for both, what the student knows a low one for both: neither is selected.
    """

    measure = "loss minus that of the reference"

    _irreducible: Sequence[float] | None = None

    def measured(
        self, asked: Candidates, positions: list[int], student: AblePredictor
    ) -> Sequence[float]:
        if self._irreducible is None:  # the reference is the same in all iterations
            gold = [record for group in self._targets() for record in group]
            self._irreducible = student.losses(asked.pool.records, learned=gold)
        losses = student.losses([asked.pool.records[i] for i in positions])
        return [loss - self._irreducible[i] for loss, i in zip(losses, positions, strict=True)]


@dataclass(eq=False)
class GradientSelection(_WithTargets):
    """The records whose updates are most like the gradients of the validation problems (LESS).

    A copy of the student is trained on a random part of the pool; at the end of each epoch, the
    Adam update of a record is compared with the gradients of the gold answers of each skill (see
    `trainers.record_measures.influences`; Xia et al. 2024, arXiv 2402.04333).

    Args:
        task: its validation split is the target.
        warmup: the share of the candidates that the copy is trained on; above 0, at most 1.
        epochs: of that training, at least 1.
    """

    measure = "influence"

    _: KW_ONLY
    warmup: Annotated[float, Gt(0), Le(1)] = 0.05
    epochs: PositiveInt = 4

    def measured(
        self, asked: Candidates, positions: list[int], student: AblePredictor
    ) -> Sequence[float]:
        rng, records = asked.rng, asked.pool.records
        drawn = rng.permutation(positions)[: max(1, round(self.warmup * len(positions)))]
        return student.influences(
            [records[i] for i in positions],
            self._targets(),
            warmup=[records[i] for i in sorted(drawn.tolist())],
            epochs=self.epochs,
            seed=int(rng.integers(2**32)),
        )


class DiverseSelection:
    """The record farthest from all that were taken before, again and again.

    It is the greedy solution of k-center (Gonzalez 1985), which selects core-sets (Sener and
    Savarese 2018, arXiv 1708.00489); the distance is 1 - the cosine of the questions' n-grams
    (`TextSimilarity`). The first record is drawn at random.
    """

    measure = "distance"

    def score(self, asked: Candidates) -> list[np.ndarray]:
        """Score the first `count` of each assignment by distance, and all others 0 or less."""
        pool = asked.pool
        nearest = np.ones(len(pool.records))  # nothing in common
        for position in sorted(pool.taken):
            nearest = np.minimum(nearest, 1 - pool.likeness_to(position))
        scores = []
        for assignment, positions in zip(asked.plan, asked.positions, strict=True):
            score = asked.rng.uniform(-1e-9, 0, len(positions))
            left = np.ones(len(positions), dtype=bool)
            for _ in range(min(assignment.count, len(positions))):
                distances = np.where(left, nearest[positions] + score, -1.0)
                best = int(distances.argmax())
                left[best] = False
                score[best] = max(0.0, float(nearest[positions[best]]))
                nearest = np.minimum(nearest, 1 - pool.likeness_to(int(positions[best])))
            scores.append(score)
        return scores
