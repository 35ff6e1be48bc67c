"""Tasks of other classes as a `Task`: the one place that looks at what an outsider's task offers.

`TaskInterface` asks for `evaluate` and `generate_performance_report` alone. Strategies, checks and
evaluation ask for more; `task_of` gives them a `Task` for any task, so that they need not look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance
from dataenvgym.tasks.base import Split, Task
from dataenvgym.tasks.environment import TaskEnvironment

OPTIONS = ("split", "sampling", "chunk_size", "threads")
"""Attributes of another class's task that a `Task` takes over where they are there."""


def task_of(task: TaskInterface) -> Task:
    """The task itself if it is a `Task`, otherwise one around it."""
    return task if isinstance(task, Task) else AdaptedTask(task)


class AdaptedTask(Task):
    """A task of another class, which may offer any of what a `Task` has.

    What it lacks is refused where it is needed, with a ConfigurationError that names the method.
    """

    def __init__(self, task: TaskInterface) -> None:
        own: dict[str, Any] = {name: getattr(task, name) for name in OPTIONS if hasattr(task, name)}
        super().__init__(**own)
        self.inner = task
        self.name = str(getattr(task, "name", type(task).__name__))

    def offers(self, name: str) -> bool:
        """Whether the task of the other class has that attribute."""
        return hasattr(self.inner, name)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        return tuple(self._asked("instances", "which are its problems"))

    def make_environment(self) -> TaskEnvironment:
        environment: TaskEnvironment = self._asked(
            "make_environment", "in which a student could try its problems"
        )()
        return environment

    def on(self, split: Split) -> Task:  # type: ignore[override]
        """The task on that split; without a method `on` it has the validation split alone."""
        if self.offers("on"):
            return task_of(self._asked("on", "")(split))
        if split == "validation":
            return self
        raise ConfigurationError(
            f"{type(self.inner).__name__} has no splits (no method `on`), so its {split} split "
            "cannot be used: give it one, as dataenvgym.tasks.Task has"
        )

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        return list(self.inner.evaluate(predictor))

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        return self.inner.generate_performance_report(completed)

    def _asked(self, name: str, purpose: str) -> Any:
        if not self.offers(name):
            raise ConfigurationError(
                f"{type(self.inner).__name__} has no `{name}`, {purpose}: give it one, as "
                "dataenvgym.tasks.Task has, or choose a strategy that does without"
            )
        return getattr(self.inner, name)
