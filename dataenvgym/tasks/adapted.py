"""Tasks of other classes as a `Task`: the one place that looks at what an outsider's task offers.

`TaskInterface` asks for `evaluate` and `generate_performance_report` alone. Strategies, checks and
evaluation ask for more; `task_of` gives them a `Task` for any task, so that they need not look.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TaskInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance
from dataenvgym.tasks.base import SPLITS, Split, Task, TaskAsDomain
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment

OPTIONS = ("sampling", "chunk_size", "threads")
"""How a task is tried. A task of another class is tried problem by problem if it has them all."""


def task_of(task: TaskInterface) -> Task:
    """The task itself if it is a `Task`, otherwise one around it."""
    return task if isinstance(task, Task) else AdaptedTask(task)


def attemptable(task: TaskInterface) -> Task:
    """The task as one whose problems can be tried.

    Raises:
        ConfigurationError: if it makes no environments.
    """
    found = task_of(task)
    if isinstance(found, AdaptedTask):
        found.needed("make_environment", "in which a student could try its problems")
    return found


def one_by_one(task: TaskInterface) -> Task | None:
    """The task as one whose problems can be tried one by one; None if it tries them all at once."""
    found = task_of(task)
    if isinstance(found, AdaptedTask) and not found.offers("make_environment", *OPTIONS):
        return None
    return found


def known_instances(task: TaskInterface) -> tuple[TaskInstance, ...]:
    """The problems of its split; none if a task of another class does not offer them."""
    own = task.inner if isinstance(task, AdaptedTask) else task
    return tuple(getattr(own, "instances", None) or ())


class AdaptedTask(Task):
    """A task of another class, which may offer any of what a `Task` has.

    What it lacks is refused where it is needed, with a ConfigurationError that names the method.
    """

    def __init__(self, task: TaskInterface) -> None:
        split, sampling = getattr(task, "split", None), getattr(task, "sampling", None)
        own: dict[str, Any] = {
            name: value
            for name in ("chunk_size", "threads")
            if isinstance(value := getattr(task, name, None), int)
        }
        if split in SPLITS:
            own["split"] = split
        if isinstance(sampling, SamplingParameters):
            own["sampling"] = sampling
        super().__init__(**own)
        self.inner = task
        self.name = str(getattr(task, "name", type(task).__name__))

    def offers(self, *names: str) -> bool:
        """Whether the task of the other class has all these attributes."""
        return all(hasattr(self.inner, name) for name in names)

    def needed(self, name: str, purpose: str) -> Any:
        """That attribute of the task of the other class.

        Raises:
            ConfigurationError: if it has none.
        """
        if not self.offers(name):
            raise ConfigurationError(
                f"{type(self.inner).__name__} has no `{name}`, {purpose}: give it one, as "
                "dataenvgym.tasks.Task has, or choose a strategy that does without"
            )
        return getattr(self.inner, name)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        return tuple(self.needed("instances", "which are its problems"))

    def make_environment(self) -> TaskEnvironment:
        make = self.needed("make_environment", "in which a student could try its problems")
        environment: TaskEnvironment = make()
        return environment

    def check_ready(self) -> None:
        if self.offers("check_ready"):
            self.needed("check_ready", "")()

    def overlap_key(self, text: str) -> str:
        own = getattr(self.inner, "overlap_key", super().overlap_key)
        return str(own(text))

    @property
    def domain(self) -> Domain:
        own = getattr(self.inner, "domain", None)
        return own if isinstance(own, Domain) else TaskAsDomain(self, self.inner)

    @property
    def splits(self) -> tuple[Split, ...]:
        if self.offers("splits"):
            return tuple(self.needed("splits", ""))
        return ("validation", "test") if self.offers("on") else ("validation",)

    def share(self) -> str | None:
        share: str | None = self.needed("share", "")() if self.offers("share") else None
        return share

    def on(self, split: Split) -> Task:  # type: ignore[override]
        """The task on that split; without a method `on` it has the validation split alone."""
        if self.offers("on"):
            return task_of(self.needed("on", "")(split))
        if split == "validation":
            return self
        raise ConfigurationError(
            f"{type(self.inner).__name__} has no splits (no method `on`), so its {split} split "
            "cannot be used: give it one, as dataenvgym.tasks.Task has, or choose a strategy that "
            "does without (an engine that takes records from a file: path=...)"
        )

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        return self.inner.evaluate(predictor)  # type: ignore[return-value]  # `evaluated_by` checks

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        return self.inner.generate_performance_report(completed)
