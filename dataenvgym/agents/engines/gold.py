"""The ceiling of a study: the task's whole train split, with its gold answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import JsonValue

from dataenvgym.agents.engines.gold_records import gold_records, train_instances
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.plans import Plan
from dataenvgym.records import TrainingDatum


class GoldEngine:
    """Gives the train split in equal parts, one each iteration, and nothing after the last.

    It follows no plan, and no count of records binds it: it shows how far good data of the task
    itself takes the student.

    Args:
        task: whose train split it is.
        parts: over how many iterations the split is spread, at least 1.
    """

    chooses = True
    follows_plan = False

    def __init__(self, task: TaskInterface, *, parts: int = 1) -> None:
        if parts < 1:
            raise ConfigurationError(f"parts is {parts}, expected 1 or more")
        self._task = task
        self._parts = parts
        self._given = 0

    @property
    def skills(self) -> Sequence[str]:
        return ()

    @property
    def is_spent(self) -> bool:
        """True if all parts are given."""
        return self._given == self._parts

    def prepare(self) -> None:
        """Load the train split.

        Raises:
            ConfigurationError: if the task has none.
        """
        train_instances(self._task)

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """The next part, in the order of the split."""
        if self.is_spent:
            return ()
        instances = train_instances(self._task)
        begin, end = (len(instances) * (self._given + i) // self._parts for i in (0, 1))
        self._given += 1
        return gold_records(self._task, instances[begin:end])

    def state_dict(self) -> dict[str, JsonValue]:
        return {"given": self._given}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        given = state["given"]
        assert isinstance(given, int)
        self._given = given
