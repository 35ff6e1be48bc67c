"""Tasks of other classes as a `Task`: the one place that looks at what an outsider's task offers.

`TaskInterface` asks for `evaluate` and `generate_performance_report` alone. Strategies, checks and
evaluation ask for more; `task_of` gives them a `Task` for any task, so that they need not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from pydantic import ValidationError

from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.interfaces import PredictorInterface, TaskInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate, template_read_off
from dataenvgym.tasks.source import Split

_OPTIONS = ("split", "sampling", "chunk_size", "threads")
"""Attributes of another class's task that a `Task` takes over where they are there."""


def task_of(task: TaskInterface) -> Task:
    """The task itself if it is a `Task`, otherwise one around it."""
    return task if isinstance(task, Task) else AdaptedTask(task)


class AdaptedTask(Task):
    """A task of another class, which may offer any of what a `Task` or its `Domain` has.

    What it lacks is refused where it is needed, with a ConfigurationError that names the method;
    `offers` says so beforehand. The methods of a domain may be those of the task itself.
    """

    def __init__(self, task: TaskInterface) -> None:
        own = {name: getattr(task, name) for name in _OPTIONS if hasattr(task, name)}
        super().__init__(domain=_domain_of(task), name=_name_of(task), **own)
        self.inner = task

    def offers(self, name: str) -> bool:
        return hasattr(self.inner, name)

    def load(self, split: Split) -> Sequence[TaskInstance]:
        return tuple(_asked(self.inner, "instances", "which are its problems"))

    @property
    def splits(self) -> tuple[Split, ...]:
        if not self.offers("on"):
            return ("validation",)
        return tuple(getattr(self.inner, "splits", super().splits))

    @property
    def has_one_source(self) -> bool:
        return bool(getattr(self.inner, "has_one_source", False))

    def share(self) -> str | None:
        return self.inner.share() if self.offers("share") else None  # type: ignore[attr-defined]

    def on(self, split: Split) -> Task:  # type: ignore[override]
        """The task on that split; without a method `on` it has the validation split alone."""
        if self.offers("on"):
            return task_of(_asked(self.inner, "on", "")(split))
        if split == "validation":
            return self
        raise ConfigurationError(
            f"{type(self.inner).__name__} has no splits (no method `on`), so its {split} split "
            "cannot be used: give it one, as dataenvgym.tasks.Task has"
        )

    def whole(self) -> Task:  # type: ignore[override]
        return task_of(_asked(self.inner, "whole", "which puts all its splits together")())

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        return evaluated_by(self.inner, predictor)

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        return report_of(self.inner, completed)


class _AdaptedDomain(Domain):
    """The domain of a task of another class, by the methods that the task has of its own."""

    def __init__(self, task: TaskInterface) -> None:
        self._task: Any = task
        self.judges_records = hasattr(task, "judge_record")
        for name in _DOMAIN_METHODS:
            if hasattr(task, name):
                setattr(self, name, getattr(task, name))

    @cached_property
    def prompt_template(self) -> PromptTemplate:  # type: ignore[override]
        own = getattr(self._task, "prompt_template", None)
        if isinstance(own, PromptTemplate):
            return own
        if not hasattr(self._task, "make_environment"):
            return PLAIN
        instances = tuple(islice(getattr(self._task, "instances", ()), 2))
        return template_read_off(self._task.make_environment, instances)

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        purpose = "in which a student could try its problems"
        environment: TaskEnvironment = _asked(self._task, "make_environment", purpose)()
        return environment


_DOMAIN_METHODS = (
    *("check_ready", "answer_class", "same_answer", "overlap_key"),
    *("judge_record", "problem_of_record"),
)


def evaluated_by(task: TaskInterface, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
    """The instances that the task's `evaluate` completed.

    Raises:
        EvaluationError: if it returned anything else.
    """
    completed: Any = task.evaluate(predictor)
    found = list(completed) if isinstance(completed, Iterable) else [completed]
    for each in found:
        if not isinstance(each, CompletedTaskInstance):
            raise EvaluationError(
                f"evaluate of task {_name_of(task)!r} gave "
                f"{type(each).__name__}, expected a list of CompletedTaskInstance"
            )
    return found


def report_of(task: TaskInterface, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
    """The task's report on the instances.

    Raises:
        EvaluationError: if it is not a report, or a score in it is not a finite number: a run with
            such a score could not be read again.
    """
    name = _name_of(task)
    try:
        report = task.generate_performance_report(completed)
        if not isinstance(report, PerformanceReport):
            raise EvaluationError(
                f"the report of task {name!r} is a {type(report).__name__}, expected a "
                "PerformanceReport; dataenvgym.tasks.report_on makes one"
            )
        # a model_copy or model_construct checks nothing
        return type(report).model_validate(report.model_dump(warnings=False))
    except ValidationError as error:
        reason = error.errors(include_url=False)[0]
        field = ".".join(map(str, reason["loc"]))
        raise EvaluationError(
            f"the report of task {name!r} cannot be used: {field} is {reason['input']!r}, "
            f"and {reason['msg'][:1].lower()}{reason['msg'][1:]}"
        ) from error


def _domain_of(task: TaskInterface) -> Domain:
    own = getattr(task, "domain", None)
    return own if isinstance(own, Domain) else _AdaptedDomain(task)


def _name_of(task: TaskInterface) -> str:
    return str(getattr(task, "name", type(task).__name__))


def _asked(task: TaskInterface, name: str, purpose: str) -> Any:
    if not hasattr(task, name):
        raise ConfigurationError(
            f"{type(task).__name__} has no `{name}`, {purpose}: give it one, as "
            "dataenvgym.tasks.Task has, or choose a strategy that does without"
        )
    return getattr(task, name)
