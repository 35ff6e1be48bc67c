"""How often a student solves each of some problems: the share of k sampled tries.

A greedy answer is right or wrong; samples tell a problem that the student has just missed from one
that is out of its reach. Tries go through the task's own environments, several turns included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.adapted import task_of


class SolveRates:
    """Lets a student try problems of a task.

    Args:
        task: with `make_environment` and the options of its rollouts (`dataenvgym.tasks.Task`).
        samples: how often each problem is tried, at least 1.
        temperature: of the tries, more than 0.

    Raises:
        ConfigurationError: if the task makes no environments, or for an impossible option.
    """

    def __init__(self, task: TaskInterface, *, samples: int, temperature: float) -> None:
        if samples < 1 or temperature <= 0:
            raise ConfigurationError(
                f"samples is {samples} and temperature is {temperature}, expected 1 or more "
                "samples at a temperature above 0"
            )
        if not hasattr(task, "make_environment"):
            raise ConfigurationError(
                f"{type(task).__name__} has no `make_environment`, in which the student could "
                "try its problems: use a task like dataenvgym.tasks.Task, or another strategy"
            )
        self._task: Any = task
        self._samples = samples
        self._temperature = temperature

    def measure(
        self,
        instances: Sequence[TaskInstance],
        predictor: PredictorInterface,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """The share of solved tries of each instance (n,); NaN where every call failed."""
        solved = np.zeros((self._samples, len(instances)))
        for row in solved:
            drawn = {"seed": int(rng.integers(2**62)), "temperature": self._temperature}
            sampling = self._task.sampling.model_copy(update=drawn)
            completed = task_of(self._task).attempt(predictor, instances, sampling=sampling)
            row[:] = [np.nan if c.error is not None else c.was_correct for c in completed]
        tried = np.sum(~np.isnan(solved), axis=0)
        with np.errstate(invalid="ignore"):
            rates: np.ndarray = np.nansum(solved, axis=0) / tried
        return rates
