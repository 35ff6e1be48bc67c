"""Data selection: takes records from a pool instead of writing them, each one only once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.engines.record_pool import RecordPool
from dataenvgym.agents.engines.selections import Selection
from dataenvgym.errors import RunDirectoryError, check_at_least
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.plans import EngineFit, Plan, credited, engine_fit
from dataenvgym.records import TrainingDatum


class PoolEngine:
    """Selects, for each assignment, the best of the records that fit it.

    Args:
        selection: ranks the records.
        task: its train split, with gold answers, is the pool if there is no file.
        path: a JSONL file of records, or None.
        nearest: for an assignment whose skill the pool does not know: the number of candidates,
            most similar to its examples, for each wanted record; at least 1.
    """

    def __init__(
        self,
        selection: Selection,
        task: TaskInterface,
        *,
        path: str | Path | None = None,
        nearest: int = 10,
    ) -> None:
        check_at_least(1, nearest=nearest)
        self.selection = selection
        self.pool = RecordPool(task, path)
        self.nearest = nearest
        self._taken: set[int] = set()

    @property
    def fit(self) -> EngineFit:
        """The needs of its selection; by default only the number of records."""
        says = getattr(self.selection, "fit", None) is not None
        return engine_fit(self.selection) if says else EngineFit(needs="counts")

    @property
    def skills(self) -> Sequence[str]:
        return self.pool.skills

    def prepare(self) -> None:
        self.pool.prepare()

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the records of the plan; fewer if the pool has no more that fit.

        Serves assignments in turn. If others took the best candidates of one, it selects again from
        the remaining records.
        """
        free = np.ones(len(self.pool.records), dtype=bool)
        free[sorted(self._taken)] = False
        chosen: list[TrainingDatum] = []
        missing = plan
        while missing:
            candidates = [
                self.pool.fitting(assignment, free, nearest=self.nearest * assignment.count)
                for assignment in missing
            ]
            scores = self.selection.score(self.pool, missing, candidates, predictor, rng)
            unserved = []
            for assignment, positions, score in zip(missing, candidates, scores, strict=True):
                best = positions[np.argsort(-score, kind="stable")]
                taken = best[free[best]][: assignment.count]
                free[taken] = False
                chosen += [credited(self.pool.records[i], assignment) for i in taken.tolist()]
                if len(positions) and len(taken) < assignment.count:
                    unserved.append(assignment.of(assignment.count - len(taken)))
            missing = tuple(unserved)
        self._taken = set(np.flatnonzero(~free).tolist())
        return chosen

    def state_dict(self) -> dict[str, JsonValue]:
        return {"taken": [*sorted(self._taken)], "size": len(self.pool.records)}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        if (size := state["size"]) != len(self.pool.records):
            raise RunDirectoryError(
                f"the run selected from a pool of {size} records, and now it has "
                f"{len(self.pool.records)}: bring the file back, or start the run over"
            )
        self._taken = set(cast("list[int]", state["taken"]))
