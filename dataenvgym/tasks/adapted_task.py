"""Turns tasks of other classes into a `Task`; only this module inspects such tasks.

`TaskInterface` requires only `evaluate` and `generate_performance_report`. Strategies, checks and
evaluation need more; `task_of` makes a `Task` of any task, so they need not inspect it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TaskInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance
from dataenvgym.records.instances import refuse_changed
from dataenvgym.tasks.base import Task, TaskAsDomain
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.source import SPLITS, Split

OPTIONS = ("sampling", "chunk_size", "threads")
"""Options of attempts. A task of another class that has all of them is tried one by one."""


def task_of(task: TaskInterface) -> Task:
    """The task itself if it is a `Task`, otherwise a `Task` that wraps it."""
    return task if isinstance(task, Task) else AdaptedTask(task)


def attemptable(task: Task) -> Task:
    """The task, if its problems can be tried.

    Raises:
        ConfigurationError: if it makes no environments.
    """
    if isinstance(task, AdaptedTask) and not task.offers("make_environment"):
        needed(task.inner, "make_environment", _TRIED)
    return task


def one_by_one(task: Task) -> Task | None:
    """The task, if its problems can be tried one by one; None if it only tries all."""
    return task if task.offers("make_environment", *OPTIONS) else None


def known_instances(task: Task) -> tuple[TaskInstance, ...]:
    """The problems of its split; none if a task of another class does not offer them."""
    return task.instances if task.offers("instances") else ()


class AdaptedTask(Task):
    """A task of another class, which may also have parts of a `Task`.

    These are `instances`, `make_environment`, a `domain`, `on` with `splits`, `whole`, and options.
    Using a missing one raises a ConfigurationError that names it; `offers` checks beforehand. A
    task with its own `domain` and `make_environment` is tried in its own environments.
    """

    def __init__(self, task: TaskInterface) -> None:
        options: dict[str, Any] = {name: getattr(task, name, None) for name in _OPTIONS}
        options = {n: value for n, value in options.items() if isinstance(value, _OPTIONS[n])}
        if options.get("split") not in SPLITS:
            options.pop("split", None)
        own = getattr(task, "domain", None)
        domain = own if isinstance(own, Domain) else None
        super().__init__(domain=domain, name=_name_of(task), **options)
        self.inner: Any = task

    def offers(self, *names: str) -> bool:
        there = {name for name in names if getattr(self.inner, name, None) is not None}
        if not isinstance(self.domain, TaskAsDomain):  # it makes environments
            there.add("make_environment")
        return there.issuperset(names)

    @property
    def instances(self) -> tuple[TaskInstance, ...]:
        """The task's problems, read at each access."""
        return tuple(needed(self.inner, "instances", "which are its problems"))

    def load(self, split: Split) -> Sequence[TaskInstance]:
        return self.on(split).instances

    def make_environment(self) -> TaskEnvironment:
        return self._making(())()

    def close(self) -> None:
        if self.offers("close"):
            self.inner.close()
        self.domain.close()

    def _making(self, instances: Sequence[TaskInstance]) -> Callable[[], TaskEnvironment]:
        if isinstance(self.domain, TaskAsDomain) or hasattr(self.inner, "make_environment"):
            own: Callable[[], TaskEnvironment] = needed(self.inner, "make_environment", _TRIED)
            return own
        return partial(self.domain.make_environment, instances)

    @property
    def splits(self) -> tuple[Split, ...]:
        if not self.offers("on"):
            return ("validation",)
        return tuple(self.inner.splits) if self.offers("splits") else ("validation", "test")

    def on(self, split: Split) -> Task:  # type: ignore[override]
        """The task on that split; a task without a method `on` has only the validation split."""
        if self.offers("on"):
            return task_of(self.inner.on(split))
        if split == "validation":
            return self
        raise ConfigurationError(
            f"{type(self.inner).__name__} has no splits (no method `on`), so its {split} split "
            "cannot be used: give it one, as dataenvgym.tasks.Task has, or choose a strategy that "
            "does not need it (an engine that takes records from a file: path=...)"
        )

    def whole(self) -> Task:  # type: ignore[override]
        return task_of(needed(self.inner, "whole", "which puts all its splits together")())

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        return evaluated_by(self.inner, predictor)

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        return report_of(self.inner, completed)


_TRIED = "in which a student could try its problems"
_OPTIONS: dict[str, Any] = {
    "split": str,
    "sampling": SamplingParameters,
    "chunk_size": int,
    "threads": int,
    "student": str,
    "others": Mapping,
}
"""Options of a `Task`, which the task may have, and their types."""


def evaluated_by(
    task: TaskInterface, predictor: PredictorInterface, marks: dict[Any, bytes] | None = None
) -> list[CompletedTaskInstance]:
    """The instances that the task's `evaluate` completed.

    Args:
        marks: hashes of earlier evaluations' problems by id; new ones are added.

    Raises:
        InvalidInstanceError: if a problem is not the one in `marks`.
    """
    found = list(task.evaluate(predictor))
    is_ours = getattr(type(task), "evaluate", None) is Task.evaluate  # which checks by itself
    if marks is not None and not is_ours:
        keyed = ((each.instance.id, each.instance) for each in found)
        refuse_changed(keyed, marks, f"evaluate of task {_name_of(task)!r}")
    counts = Counter(each.instance.id for each in found)
    if repeated := [id for id, count in counts.items() if count > 1]:
        warn_run(
            f"evaluate of task {_name_of(task)!r} gave {len(repeated)} ids more than once, such as "
            f"{repeated[0]!r} {counts[repeated[0]]} times: comparisons of the same instance before "
            "and after keep only the last one; give each problem an id of its own"
        )
    return found


def report_of(task: TaskInterface, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
    """The task's report on the instances.

    Raises:
        pydantic.ValidationError: if a score in it is not a finite number: a run with such a score
            could not be read again.
    """
    report = task.generate_performance_report(completed)
    # a model_copy or model_construct checks nothing
    return type(report).model_validate(report.model_dump(warnings=False))


def _name_of(task: TaskInterface) -> str:
    return str(getattr(task, "name", type(task).__name__))


def needed(task: TaskInterface, name: str, purpose: str) -> Any:
    """That attribute of a task of another class; ConfigurationError if it has none."""
    if (found := getattr(task, name, None)) is None:
        raise ConfigurationError(
            f"{type(task).__name__} has no `{name}`, {purpose}: give it one, as "
            "dataenvgym.tasks.Task has, or choose a strategy that does not need it"
        )
    return found
