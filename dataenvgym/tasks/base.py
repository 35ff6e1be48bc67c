"""A task: problems by split, put to a predictor and summed up.

`Task` implements `TaskInterface`; a domain says where its problems come from (`load`) and in
which environment they are worked on (`make_environment`).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Self, cast, get_args

from dataenvgym.errors import ConfigurationError, InvalidInstanceError, did_you_mean
from dataenvgym.interfaces import PredictorInterface, SamplingParameters, TeacherInterface
from dataenvgym.records import (
    CompletedTaskInstance,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
    check_ids,
)
from dataenvgym.rollouts import rollout, speakers_of
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import prompt_template_of
from dataenvgym.tasks.reports import report_on
from dataenvgym.tasks.words import words_of

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)
GREEDY = SamplingParameters()


class Task(ABC):
    """The problems of one split, and how a predictor does on them.

    A subclass has a `name`, `load(split)` and `make_environment()`; its own constructor passes
    these options on. It may have

    - `prompt_template`, a `PromptTemplate`: what surrounds an instruction in the prompts of its
      environment, and so in those of training records (without it, see `prompt_template_of`);
    - `judge_record(record) -> bool | None`, which says whether a training record's answer holds
      (None: cannot tell), for the quality check `wrong_answer`;
    - `problem_of_record(record) -> TaskInstance | None`: a training record as a problem to be
      tried again, for `train_accuracy` in `SkillTree-v0` (default: by its final answer);
    - `answer_class(instance, reply) -> str | None` and `same_answer(instance, one, other) ->
      bool`, by which answers are counted for a majority (see `dataenvgym.evaluation.answers`).

    Args:
        split: the split that `instances` and `evaluate` are about.
        sampling: how the predictor draws its replies.
        chunk_size: how many conversations one `predict` call gets.
        threads: how many task environments step at the same time.
        others: the models that its environments ask, by name: predictors or teachers (see
            `TaskEnvironment`, which `make_environment` gives `others=self.others`).
    """

    name: str

    def __init__(
        self,
        *,
        split: Split = "validation",
        sampling: SamplingParameters = GREEDY,
        chunk_size: int = 128,
        threads: int = 4,
        others: Mapping[str, PredictorInterface | TeacherInterface] | None = None,
    ):
        self.split = _checked(split)
        self.sampling = SamplingParameters.model_validate(sampling)
        self.chunk_size = chunk_size
        self.threads = threads
        self.others = speakers_of(others)
        self._loaded: dict[Split, tuple[TaskInstance, ...]] = {}

    # --- what a domain overrides ---

    @abstractmethod
    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, always the same ones in the same order.

        Raises:
            UnparsableAnswerError: for a gold answer that the scorer cannot read.
        """

    @abstractmethod
    def make_environment(self) -> TaskEnvironment:
        """A new environment for one problem at a time; called from several threads."""

    def check_ready(self) -> None:  # noqa: B027 - most tasks need nothing
        """Raise ConfigurationError if what judging needs is not there; here, nothing is needed."""

    def overlap_key(self, text: str) -> str:
        """What makes two problems the same, whatever their wording: here, words and digits.

        Case, punctuation, spacing and the Unicode form of a letter do not count.
        """
        return " ".join(words_of(text))

    # --- what it offers ---

    @property
    def instances(self) -> tuple[TaskInstance, ...]:
        """The problems of `split`, loaded once.

        Raises:
            InvalidInstanceError: if there are none, two have the same id, or `load` returned
                something else.
        """
        if self.split not in self._loaded:
            self._loaded[self.split] = _checked_instances(self, self.load(self.split))
        return self._loaded[self.split]

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits that there are; here, all three."""
        return SPLITS

    def share(self) -> str | None:
        """What part of its source the split is, such as "2 of 20 problems (validation is 10%)".

        None if it is all of it, as it is here.
        """
        return None

    def on(self, split: Split) -> Self:
        """The same task on another split; what is loaded is shared."""
        other = copy.copy(self)
        other.split = _checked(split)
        return other

    @property
    def domain(self) -> Domain:
        """How the problems are put, judged, compared and taught."""
        return TaskAsDomain(self)

    def attempt(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance] | None = None,
        *,
        samples: int = 1,
        sampling: SamplingParameters | None = None,
    ) -> list[CompletedTaskInstance]:
        """Let the predictor try problems: the one way to do so.

        Args:
            instances: the problems; None is those of the split. They need not be of this task's
                source: a training record that became a problem is tried in the same way.
            samples: how often it tries each. The result has all first tries, in the order of
                `instances`, then all second ones, and so on.
            sampling: how it draws its replies; None is the task's own. Tries after the first have
                seeds that derive from its seed.

        Raises:
            ConfigurationError: before anything is asked, if the answers could not be judged.
            PredictionError: if the predictor cannot work at all.
        """
        self.domain.check_ready()
        instances = self.instances if instances is None else instances
        sampling = sampling or self.sampling
        tries: list[CompletedTaskInstance] = []
        for sample in range(samples):
            seed = sample_seed(sampling.seed, sample)
            tries += rollout(
                predictor,
                instances,
                self.make_environment,
                sampling=sampling.model_copy(update={"seed": seed}),
                others=self.others,
                chunk_size=self.chunk_size,
                threads=self.threads,
            )
        return tries

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        """Put every problem of the split to the predictor, in order.

        Raises:
            ConfigurationError: before anything is asked, if the answers could not be judged.
        """
        return self.attempt(predictor)

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """Mean reward and accuracy over the instances without an error, overall and by skill.

        Raises:
            EvaluationError: if no instance could be scored; it says the first reason.
        """
        return report_on(self.name, completed)


def sample_seed(seed: int, sample: int) -> int:
    """The seed of that sample; sample 0 is drawn with `seed` itself."""
    return seed if sample == 0 else derive_seed(seed, "sample", sample)


def _checked(split: Split) -> Split:
    if split not in SPLITS:
        raise ConfigurationError(
            f"split is {split!r}, expected one of {', '.join(SPLITS)}."
            f"{did_you_mean(str(split), SPLITS)}"
        )
    return split


def _checked_instances(task: Task, loaded: Any) -> tuple[TaskInstance, ...]:
    where = f"task {task.name!r}, split {task.split!r}"
    if isinstance(loaded, str | bytes | Mapping) or not isinstance(loaded, Iterable):
        raise InvalidInstanceError(
            f"{where}: load() returned {_shown(loaded)}, expected a sequence of TaskInstance"
        )
    instances = tuple(loaded)
    for i, instance in enumerate(instances):
        if not isinstance(instance, TaskInstance):
            raise InvalidInstanceError(
                f"{where}: item {i} of load() is {_shown(instance)}, expected a TaskInstance: "
                "TaskInstance(id=..., task=self.name, instruction=..., answer=...)"
            )
    if not instances:
        raise InvalidInstanceError(f"{where}: there are no instances, expected at least one")
    check_ids(instances, where)
    return instances


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


class TaskAsDomain(Domain):
    """The domain of a task that has none: it makes environments, and judges by them."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.prompt_template = prompt_template_of(task)
        self.judges_records = hasattr(task, "judge_record")

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        return self._task.make_environment()

    def check_ready(self) -> None:
        self._task.check_ready()

    def overlap_key(self, text: str) -> str:
        return self._task.overlap_key(text)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        own = getattr(self._task, "answer_class", super().answer_class)
        return cast("str | None", own(instance, reply))

    def same_answer(self, instance: TaskInstance, one: str, other: str) -> bool:
        own = getattr(self._task, "same_answer", super().same_answer)
        return one == other or bool(own(instance, one, other))

    def judge_record(self, record: TrainingDatum) -> bool | None:
        own = getattr(self._task, "judge_record", super().judge_record)
        return cast("bool | None", own(record))

    def problem_of_record(self, record: SupervisedDatum) -> TaskInstance | None:
        own = getattr(self._task, "problem_of_record", super().problem_of_record)
        return cast("TaskInstance | None", own(record))
