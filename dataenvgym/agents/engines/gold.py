"""The upper bound of a study: the task's whole train split, with its gold answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import cast

import numpy as np
from pydantic import JsonValue, PositiveInt

from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import ChatDatum, SupervisedDatum, TaskInstance, TrainingDatum
from dataenvgym.records.plans import EngineFit, Plan
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task


def gold_records(
    task: Task, instances: Sequence[TaskInstance]
) -> list[SupervisedDatum | ChatDatum]:
    """Make a record of each instance that allows one; a warning names the others.

    Raises:
        ConfigurationError: if the task makes no environments to try the gold answers in.
    """
    tried = attemptable(task)
    found = [(instance.id, tried.gold_record(instance)) for instance in instances]
    if missing := [id for id, record in found if record is None]:
        warn_run(
            f"{len(missing)} of {len(found)} training problems of task {tried.name!r} are not "
            "taught: their gold answers, as a first reply, do not solve them; the first ones: "
            f"{', '.join(missing[:5])}"
        )
    return [record for _, record in found if record is not None]


@dataclass(eq=False)
class GoldEngine:
    """The task's whole train split with its gold answers; ignores the plan.

    Gives the train split in equal parts, one in each iteration, then nothing.

    It ignores the plan and the number of records. It shows how far the task's own good data takes
    the student.

    Args:
        task: the task with the train split.
        parts: the number of iterations that the split is spread over, at least 1.
    """

    skills = ()

    task: Task
    _: KW_ONLY
    parts: PositiveInt = 1

    def __post_init__(self) -> None:
        self._given = 0

    @property
    def fit(self) -> EngineFit:
        """Say that the engine runs out after the last part."""
        return EngineFit(needs="nothing", writes=self._given < self.parts)

    def prepare(self) -> None:
        _ = self.task.on("train").instances

    def generate(
        self, plan: Plan, predictor: PredictorInterface, rng: np.random.Generator
    ) -> Sequence[TrainingDatum]:
        """Return the next part, in the order of the split."""
        if not self.fit.writes:
            return ()
        instances = self.task.on("train").instances
        begin, end = (len(instances) * (self._given + i) // self.parts for i in (0, 1))
        self._given += 1
        return gold_records(self.task, instances[begin:end])

    def state_dict(self) -> dict[str, JsonValue]:
        return {"given": self._given}

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        self._given = cast(int, state["given"])
