"""Several tasks as one: the student is taught on all of them, and evaluated on each.

    dataenvgym run task.tasks=[pocket_math,pocket_knowledge]

Problems keep the ids and skills that they have in their task; its name is their `task` and their
category. Each is posed, tried and judged by its own task, and so is a record, whose provenance has
the name. The report has the score of each task as a named score; its score, of which the reward is
the change, follows from these by a rule. Records are compared with the problems of all tasks, so
what is taught for one does not give away another's.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import fsum
from pathlib import Path
from typing import Any, Literal

from dataenvgym.errors import ConfigurationError, InvalidRecordError
from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TaskInterface
from dataenvgym.options import takes
from dataenvgym.records import (
    CompletedTaskInstance,
    PerformanceReport,
    Provenance,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.adapted_task import report_of, task_of
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain, has_answer, report_on
from dataenvgym.tasks.options import TaskOptions
from dataenvgym.tasks.source import SPLITS, Split

Rule = Literal["mean", "min"]


@dataclass(frozen=True)
class SeveralOptions(TaskOptions):
    """Options of `SeveralTasks`. Each task is tried with its own options.

    Attributes:
        sampling: what is given here replaces what the tasks have, such as temperature=1.0.
        tasks: by name.
        reward: the score of all tasks: their "mean", or the lowest ("min").
        weights: of each task in the mean, by name; None weighs them equally.
        name: of the whole.
    """

    tasks: Mapping[str, TaskInterface]
    _: KW_ONLY
    reward: Rule = "mean"
    weights: Mapping[str, float] | None = None
    name: str = "several"


class SeveralTasks(Task):
    """Several tasks as one; see the module.

    SeveralTasks({"sums": PocketMathTask(), "facts": PocketKnowledgeTask()})
    """

    @takes(SeveralOptions)
    def __init__(self, options: SeveralOptions) -> None:
        changes = _differing(options.sampling, SeveralOptions.sampling)
        self.tasks = {str(name): copy.copy(task_of(task)) for name, task in options.tasks.items()}
        for task in self.tasks.values():
            task.sampling = task.sampling.model_copy(update=changes)
        if any(task.pressure is not None for task in self.tasks.values()) or options.examples:
            raise ConfigurationError(
                "tasks are several, which have no pressure, and each its own examples "
                f"(task.tasks.{next(iter(self.tasks))}.examples): leave it out"
            )
        self.reward = options.reward
        self.weights = _checked_weights(options, self.tasks)
        self.set_up(None, None, options)
        hottest = max(task.sampling.temperature for task in self.tasks.values())
        self.sampling = self.sampling.model_copy(update={"temperature": hottest})
        self.others = {
            f"{name}_{who}": speaker
            for name, task in self.tasks.items()
            for who, speaker in task.others.items()
        }

    @property
    def parts(self) -> Mapping[str, Task]:
        return self.tasks

    @property
    def domain(self) -> Domain:
        """None in common: a problem or a record has its own (`domain_of`)."""
        raise ConfigurationError(
            f"a part of this run needs a task of one domain, and {self.name} has several: choose "
            f"one of {', '.join(self.tasks)}, or another part"
        )

    def part_of(self, of: TaskInstance | Provenance) -> Task:
        """The task that a problem or a record's provenance names.

        Raises:
            InvalidRecordError: if it names none of the tasks.
        """
        if of.task not in self.tasks:
            raise InvalidRecordError(
                f"provenance.task of a record is {of.task!r}, expected one of "
                f"{', '.join(self.tasks)}: the task that it is for"
            )
        return self.tasks[of.task]

    def domain_of(self, of: TaskInstance | Provenance) -> Domain:
        return self.part_of(of).domain

    def problem_of(self, record: TrainingDatum) -> TaskInstance | None:
        problem = super().problem_of(record)
        return problem and problem.model_copy(update={"task": record.provenance.task})

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that all tasks have."""
        return tuple(s for s in SPLITS if all(s in task.splits for task in self.tasks.values()))

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of all tasks, task by task."""
        return [
            instance.model_copy(update={"task": name, "category": name})
            for name, task in self.tasks.items()
            for instance in task.on(split).instances
        ]

    def attempt(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance] | None = None,
        *,
        samples: int = 1,
        sampling: SamplingParameters | None = None,
        adapters: Sequence[Path | None] | None = None,
    ) -> list[CompletedTaskInstance]:
        """Let the predictor try problems, each as its own task does; see `Task.attempt`.

        Args:
            sampling: what differs in it from `self.sampling` is changed for each task.
        """
        changes = {} if sampling is None else _differing(sampling, self.sampling)
        instances = self.instances if instances is None else list(instances)
        tries: list[list[CompletedTaskInstance | None]] = [
            [None] * len(instances) for _ in range(samples)
        ]
        owners = [self.part_of(instance) for instance in instances]
        for task in self.tasks.values():
            if not (places := [i for i, owner in enumerate(owners) if owner is task]):
                continue
            done = task.attempt(
                predictor,
                [instances[i] for i in places],
                samples=samples,
                sampling=task.sampling.model_copy(update=changes),
                adapters=None if adapters is None else [adapters[i] for i in places],
            )
            for number, completed in enumerate(done):
                tries[number // len(places)][places[number % len(places)]] = completed
        return [completed for row in tries for completed in row if completed is not None]

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """The report on all tasks: its score follows from theirs, which are named scores.

        Raises:
            EvaluationError: if no instance of one of the tasks could be scored.
        """
        whole = report_on(
            self.name,
            completed,
            has_answer=lambda c: has_answer(self.domain_of(c.instance), c),
        )
        reports: dict[str, PerformanceReport] = {}
        for name, task in self.tasks.items():
            if own := [c for c in completed if c.instance.task == name]:
                reports[name] = report_of(task, own)
        if lacking := [name for name in self.tasks if name not in reports]:
            warn_run(f"{self.name}: no problem of {', '.join(lacking)} is in the score")
        scores = {name: report.score for name, report in reports.items()}
        return whole.model_copy(
            update={
                "score": self._score(scores),
                "scores": {**whole.scores, **scores},
                "skills": tuple(s for name in sorted(reports) for s in reports[name].skills),
            }
        )

    def as_trained(self, records: Sequence[TrainingDatum]) -> Sequence[TrainingDatum]:
        """The records as the trainer gets them; see `Task.as_trained`."""
        return [
            shown
            for record in records
            for shown in self.part_of(record.provenance).as_trained([record])
        ]

    def _score(self, scores: Mapping[str, float]) -> float:
        if self.reward == "min":
            return min(scores.values())
        total = fsum(self.weights[name] for name in scores)
        return fsum(self.weights[name] * score for name, score in scores.items()) / total


def _differing(one: SamplingParameters, other: SamplingParameters) -> dict[str, Any]:
    """The fields of the first that differ from those of the second."""
    values = SamplingParameters.model_validate(one)
    names = SamplingParameters.model_fields
    return {n: getattr(values, n) for n in names if getattr(values, n) != getattr(other, n)}


def _checked_weights(options: SeveralOptions, tasks: Mapping[str, Task]) -> dict[str, float]:
    weights = options.weights
    if weights is None:
        return dict.fromkeys(tasks, 1.0)
    if (
        {*weights} != {*tasks}
        or not all(w > 0 for w in weights.values())
        or options.reward == "min"
    ):
        raise ConfigurationError(
            f"weights are {dict(weights)!r} with reward={options.reward}, expected a weight above "
            f"0 for each of {', '.join(tasks)}, and reward=mean"
        )
    return {name: float(weights[name]) for name in tasks}
