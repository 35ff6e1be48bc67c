"""Several tasks as one: the student is taught on all of them, and evaluated on each.

    dataenvgym run task.tasks=[pocket_math,pocket_knowledge]

Problems keep the ids and skills that they have in their task, and its name is their category. Each
is posed, tried and judged by its own task. The report has the score of each task as a named score;
its score, of which the reward is the change, follows from these by a rule. Records are compared
with the problems of all tasks, so what is taught for one does not give away another's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Any, Literal, get_args

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.events import warn_run
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TaskInterface
from dataenvgym.options import takes
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.tasks.adapted_task import report_of, task_of
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.options import TaskOptions
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate
from dataenvgym.tasks.reports import report_on
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
        self.tasks = {
            str(name): _with_sampling(task_of(task), changes)
            for name, task in options.tasks.items()
        }
        if len(self.tasks) < 2:
            raise ConfigurationError(
                f"tasks has {', '.join(self.tasks) or 'none'}, expected two or more, such as "
                "task.tasks=[pocket_math,pocket_knowledge]"
            )
        if pressed := [name for name, task in self.tasks.items() if task.pressure is not None]:
            raise ConfigurationError(
                f"task {pressed[0]!r} has a pressure, which only a task by itself can have: leave "
                "it out"
            )
        if options.examples is not None:
            raise ConfigurationError(
                "examples are given for several tasks, and each task has its own: set "
                f"task.tasks.{next(iter(self.tasks))}.examples, or leave it out"
            )
        check_one_of(get_args(Rule), reward=options.reward)
        self.reward = options.reward
        self.weights = _checked_weights(options, self.tasks)
        self.set_up(None, SeveralDomains(self), options, name=options.name)
        hottest = max(task.sampling.temperature for task in self.tasks.values())
        self.sampling = self.sampling.model_copy(update={"temperature": hottest})
        self.others = {
            f"{name}_{who}": speaker
            for name, task in self.tasks.items()
            for who, speaker in task.others.items()
        }

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
        for name, task in self.tasks.items():
            places = [i for i, instance in enumerate(instances) if self.part_of(instance) == name]
            if not places:
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
        whole = report_on(self.name, completed, has_answer=self.domain.has_answer)
        scores = {}
        for name, task in self.tasks.items():
            if own := [c for c in completed if self.part_of(c.instance) == name]:
                scores[name] = report_of(task, own).score
        if lacking := [name for name in self.tasks if name not in scores]:
            warn_run(f"{self.name}: no problem of {', '.join(lacking)} is in the score")
        named = {**whole.scores, **scores}
        return whole.model_copy(update={"score": self._score(scores), "scores": named})

    def as_trained(self, records: Sequence[TrainingDatum]) -> Sequence[TrainingDatum]:
        """The records as the trainer gets them; see `Task.as_trained`."""
        if not any(task.examples and task.examples_for == "always" for task in self.tasks.values()):
            return records
        owners = [self.tasks[self.part_of_skill(record.provenance.skill)] for record in records]
        return [
            shown
            for task, record in zip(owners, records, strict=True)
            for shown in task.as_trained([record])
        ]

    def part_of(self, instance: TaskInstance) -> str:
        """The name of the problem's task; of a record's problem, that of its skill."""
        return instance.task if instance.task in self.tasks else self.part_of_skill(instance.skill)

    def part_of_skill(self, skill: str | None) -> str:
        """The name of the first task with this skill; without one, that of the first task.

        A warning says that the latter is a guess, as for skills that were discovered.
        """
        if (name := self._by_skill.get(skill)) is None:
            name = self._by_skill[skill] = next(iter(self.tasks))
            what = f"the skill {skill!r}" if skill else "no skill"
            warn_run(
                f"{self.name}: records with {what}, which no task has, count as those of {name}"
            )
        return name

    @cached_property
    def _by_skill(self) -> dict[str | None, str]:
        found: dict[str | None, str] = {}
        for name, task in self.tasks.items():
            skills = {i.skill for split in task.splits for i in task.on(split).instances}
            shared = [skill for skill in skills if skill in found]
            if shared and type(task.domain) is not type(self.tasks[found[shared[0]]].domain):
                what = f"the skill {shared[0]!r}" if shared[0] else "problems without a skill"
                warn_run(
                    f"{self.name}: {found[shared[0]]} and {name} both have {what}: a record for it "
                    f"counts as one of {found[shared[0]]}"
                )
            found = {**dict.fromkeys(skills, name), **found}
        return found

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


def _with_sampling(task: Task, changes: Mapping[str, Any]) -> Task:
    if not changes:
        return task
    changed = copy.copy(task)
    changed.sampling = task.sampling.model_copy(update=dict(changes))
    return changed


def _checked_weights(options: SeveralOptions, tasks: Mapping[str, Task]) -> dict[str, float]:
    weights = options.weights
    if weights is None:
        return dict.fromkeys(tasks, 1.0)
    are_numbers = all(isinstance(w, int | float) and w > 0 for w in weights.values())
    if {*weights} != {*tasks} or not are_numbers or options.reward == "min":
        raise ConfigurationError(
            f"weights are {dict(weights)!r} with reward={options.reward}, expected a weight above "
            f"0 for each of {', '.join(tasks)}, and reward=mean"
        )
    return {name: float(weights[name]) for name in tasks}


class SeveralDomains(Domain):
    """The domains of several tasks: each problem and each record is for that of its own task.

    A record is of the task that has its skill. What a teacher reads about all problems is that of
    all tasks together.
    """

    def __init__(self, task: SeveralTasks) -> None:
        self._task = task
        self._domains: dict[str, Domain] = {name: one.domain for name, one in task.tasks.items()}
        all_of = [*self._domains.values()]
        self.has_tools = any(domain.has_tools for domain in all_of)
        self.asks_others = any(domain.asks_others for domain in all_of)
        self.word_runs_identify = all(domain.word_runs_identify for domain in all_of)

    def _of(self, instance: TaskInstance) -> Domain:
        return self._domains[self._task.part_of(instance)]

    def _of_record(self, record: TrainingDatum) -> tuple[str, Domain]:
        name = self._task.part_of_skill(record.provenance.skill)
        return name, self._domains[name]

    def _together(self, text: Callable[[Domain], str]) -> str:
        """The different texts of all domains, with the names of their tasks."""
        texts = {name: text(domain) for name, domain in self._domains.items()}
        if len({*texts.values()}) == 1:
            return next(iter(texts.values()))
        return "\n".join(f"{name}: {found}" for name, found in texts.items() if found)

    @property
    def prompt_template(self) -> PromptTemplate:  # type: ignore[override]
        """That of all domains, if they have the same."""
        first, *others = (domain.prompt_template for domain in self._domains.values())
        return first if all(other == first for other in others) else PLAIN

    @property
    def answer_form(self) -> str:  # type: ignore[override]
        return self._together(lambda domain: domain.answer_form)

    @property
    def teacher_context(self) -> str:
        return self._together(lambda domain: domain.teacher_context)

    @property
    def record_forms(self) -> tuple[str, ...]:
        """The forms that all domains take, in the first one's order.

        Raises:
            ConfigurationError: if there is none.
        """
        first, *others = (domain.record_forms for domain in self._domains.values())
        shared = tuple(form for form in first if all(form in other for other in others))
        if not shared:
            raise ConfigurationError(
                f"the tasks {', '.join(self._domains)} take records of different forms, so one "
                "prompt cannot ask for them: choose tasks of one form, or an engine without a "
                "prompt for records (agent/engine=rejection_sampling)"
            )
        return shared

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        """The environment of these problems' task; ConfigurationError if they have several."""
        names = dict.fromkeys(map(self._task.part_of, instances))
        if len(names) != 1:
            raise ConfigurationError(
                f"problems of {', '.join(names) or 'no task'} have no environment in common: take "
                "those of one task"
            )
        return self._domains[next(iter(names))].make_environment(instances)

    def check_ready(self) -> None:
        for domain in self._domains.values():
            domain.check_ready()

    def close(self) -> None:
        for domain in self._domains.values():
            domain.close()

    # --- of a problem ---

    def prompt(self, instance: TaskInstance) -> Any:
        return self._of(instance).prompt(instance)

    def judge(self, instance: TaskInstance, reply: str) -> bool:
        return self._of(instance).judge(instance, reply)

    def text_of(self, instance: TaskInstance) -> str:
        return self._of(instance).text_of(instance)

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        return self._of(completed.instance).tried_text(completed)

    def gold_text(self, instance: TaskInstance) -> str | None:
        return self._of(instance).gold_text(instance)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        return self._of(instance).answer_class(instance, reply)

    def answer_given(self, completed: CompletedTaskInstance) -> str | None:
        return self._of(completed.instance).answer_given(completed)

    def has_answer(self, completed: CompletedTaskInstance) -> bool | None:
        return self._of(completed.instance).has_answer(completed)

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        return self._of(instance).same_answer(instance, one, other)

    def gives(self, instance: TaskInstance, reply: str, right: str) -> bool | None:
        return self._of(instance).gives(instance, reply, right)

    def overlap_key(self, text: str) -> str:
        """The keys of all domains: texts that differ for one of them are different problems."""
        return "\n".join(dict.fromkeys(d.overlap_key(text) for d in self._domains.values()))

    def overlap_answer(self, instance: TaskInstance) -> str | None:
        return self._of(instance).overlap_answer(instance)

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        return self._of(instance).gold_record(instance)

    def ways_to_answer(self, instance: TaskInstance) -> Iterator[str]:
        return self._of(instance).ways_to_answer(instance)

    # --- of a record ---

    @property
    def judges_records(self) -> bool:
        return any(domain.judges_records for domain in self._domains.values())

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        return self._of_record(record)[1].frame(record)

    def unframe(self, record: TrainingDatum) -> TrainingDatum:
        return self._of_record(record)[1].unframe(record)

    def record_fault(self, record: TrainingDatum) -> str | None:
        return self._of_record(record)[1].record_fault(record)

    def judge_record(self, record: TrainingDatum) -> bool | None:
        return self._of_record(record)[1].judge_record(record)

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        name, domain = self._of_record(record)
        return _of_task(domain.problem_of_record(record), name)

    def question_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        name, domain = self._of_record(record)
        return _of_task(domain.question_of_record(record), name)


def _of_task(problem: TaskInstance | None, name: str) -> TaskInstance | None:
    return None if problem is None else problem.model_copy(update={"task": name})
