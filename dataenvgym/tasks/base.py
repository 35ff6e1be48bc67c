"""A task: problems by split, which a predictor tries and a report sums up.

`Task` implements `TaskInterface`. It consists of a source, which provides the problems, and a
domain, which poses and judges them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.interfaces import PredictorInterface, SamplingParameters
from dataenvgym.options import takes
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    PerformanceReport,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
    check_ids,
)
from dataenvgym.records.instances import refuse_changed
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.examples import (
    WithExamples,
    examples_of,
    record_with_examples,
    shows_to,
)
from dataenvgym.tasks.options import TaskArguments, TaskOptions
from dataenvgym.tasks.pressures import pressure_of
from dataenvgym.tasks.prompt_template import PromptTemplate, template_read_off
from dataenvgym.tasks.record_conversion import lesson_of
from dataenvgym.tasks.rollouts import rollout, speakers_of
from dataenvgym.tasks.row_source import Read, RowSource
from dataenvgym.tasks.source import SPLITS, Source, Split


@dataclass(frozen=True)
class Purpose:
    """The purpose of attempts.

    Attributes:
        run: the name of the run or evaluation; "" for attempts that are not recorded.
        phase: the part of the run, such as "iteration-003" or "sample-000".
    """

    run: str = ""
    phase: str = ""


_CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=Purpose())  # noqa: B039 - frozen


def current_purpose() -> Purpose:
    """The purpose set by the enclosing `attempts_for`; threads of a rollout see it."""
    return _CURRENT.get()


@contextmanager
def attempts_for(run: str, phase: str) -> Iterator[None]:
    """Set the purpose of the attempts in this block."""
    token = _CURRENT.set(Purpose(run, phase))
    try:
        yield
    finally:
        _CURRENT.reset(token)


class Task:
    """The problems of one split, and how well a predictor solves them.

        Task(RowSource("problems.jsonl", ...), MathDomain(), name="mine")

    A subclass may define methods instead of a part: `load(split)` instead of the source,
    `make_environment()` instead of the domain.

    Its arguments are those of `TaskArguments`. A subclass with a group of its own calls `set_up`.

    Raises:
        ConfigurationError: if a part is missing, or given twice.
    """

    name: str = "task"
    self_edit_engine: ClassVar[str | None] = None
    """The option of agent/engine with which `dataenvgym adapt` writes self-edits, if any."""

    @takes(TaskArguments)
    def __init__(self, given: TaskArguments) -> None:
        self.set_up(given.source, given.domain, given)

    def set_up_rows(self, domain: Domain, options: Any, read: Read, **more: Any) -> None:
        """Set the parts and options of a task from files (`FileOptions`).

        Args:
            read: makes a problem of a row (see `RowSource`).
            more: further arguments of `RowSource`; `overlap_key` and `gold_errors` are the domain's
                if it has them.
        """
        own: Any = {n: getattr(domain, n, None) for n in ("overlap_key", "gold_errors")}
        name = options.name or self.name
        source = RowSource(options.sources, read, options, **{"name": name, **own, **more})
        self.set_up(source, domain, options)

    def set_up(self, source: Source | None, domain: Domain | None, options: TaskOptions) -> None:
        """Set the parts and options; constructors of subclasses call it."""
        own: Any = type(self)
        lacks_source = source is None and own.load is Task.load
        has_domain = own.domain is not Task.domain  # a class attribute
        makes = own.make_environment is not Task.make_environment  # and may ask any model
        if lacks_source or (domain is not None) + has_domain + makes == 0:
            part = (
                "source, nor the method `load`" if lacks_source else "domain, nor make_environment"
            )
            raise ConfigurationError(f"{own.__name__} has no {part}: see dataenvgym.tasks.Task")
        if domain is not None and has_domain:
            raise ConfigurationError(
                f"{own.__name__} has a domain of its own, and is given another one"
            )
        self.name = getattr(options, "name", None) or self.name
        self.source = source
        self.split = options.split
        self.sampling = SamplingParameters.model_validate(options.sampling)
        self.chunk_size = options.chunk_size
        self.threads = options.threads
        self.student = options.student
        self.pressure = pressure_of(options.pressure)
        self.pressure_on_records = options.pressure_on_records
        self.examples = None if options.examples is None else examples_of(options.examples)
        self.examples_for = options.examples_for
        self._domain = domain
        self.others = speakers_of(options.others)
        asks = makes or domain is None or domain.asks_others
        if not asks and {*self.others} - {"judge"}:
            raise ConfigurationError(
                f"others is {sorted(self.others)}, and {self.name} asks no other model: leave it "
                "out (an engine may ask others.judge)"
            )
        self._loaded: dict[Split, tuple[TaskInstance, ...]] = {}
        self._marks: dict[Any, bytes] = {}

    # --- its parts ---

    def load(self, split: Split) -> Sequence[TaskInstance]:
        """The problems of that split, as `Source.load` gives them."""
        assert self.source is not None  # a subclass without a source has its own `load`
        return self.source.load(split)

    def make_environment(self) -> TaskEnvironment:
        """A new environment for one problem at a time; called from several threads."""
        return self.domain.make_environment(self.instances)

    @property
    def domain(self) -> Domain:
        """How the problems are put, judged, compared and taught."""
        if self._domain is None:
            self._domain = TaskAsDomain(self)
        return self._domain

    @property
    def parts(self) -> Mapping[str, Task]:
        """The tasks that it consists of, by name; by itself, only itself."""
        return {self.name: self}

    def domain_of(self, of: TaskInstance | Provenance) -> Domain:
        """The domain of a problem, or of a record with that provenance."""
        return self.domain

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first."""
        return self.domain_of(instance).prompt(instance)

    def gold_record(self, instance: TaskInstance) -> SupervisedDatum | ChatDatum | None:
        """A record that solves the problem, or None."""
        return self.domain_of(instance).gold_record(instance)

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Put a record written by an engine into the prompt of its problems."""
        return self.domain_of(record.provenance).frame(record)

    def problem_of(self, record: TrainingDatum) -> TaskInstance | None:
        """A training record of any kind as a problem that can be tried, or None."""
        lesson = record if isinstance(record, ChatDatum) and record.tools else lesson_of(record)
        domain = self.domain_of(record.provenance)
        return None if lesson is None else domain.problem_of_record(lesson)

    def close(self) -> None:
        """Release the resources used for judging; nothing can be judged afterwards."""
        self.domain.close()

    def offers(self, *names: str) -> bool:
        """Whether it has these attributes, such as "instances"; tasks of other classes may not."""
        return True

    # --- what it offers ---

    @property
    def instances(self) -> tuple[TaskInstance, ...]:
        """The problems of `split`, loaded once.

        Raises:
            InvalidInstanceError: if there are none, or two have the same id.
        """
        if self.split not in self._loaded:
            where = f"task {self.name!r}, split {self.split!r}"
            instances = tuple(self.load(self.split))
            if self.pressure is not None:
                instances = tuple(self.pressure.problems(self.split, instances, self._skills))
            if not instances:
                raise InvalidInstanceError(
                    f"{where}: there are no instances, expected at least one"
                )
            check_ids(instances, where)
            self._loaded[self.split] = instances
            self._refuse_changed()
        return self._loaded[self.split]

    def _refuse_changed(self) -> None:
        """Raise InvalidInstanceError if a problem is not as it was when it was loaded."""
        keyed = (((self.split, n), one) for n, one in enumerate(self.instances))
        refuse_changed(keyed, self._marks, f"task {self.name!r}, split {self.split!r}")

    @cached_property
    def _skills(self) -> tuple[str, ...]:
        """The skills of the problems, without the pressure."""
        split = "validation" if "validation" in self.splits else self.split
        return tuple(sorted({i.skill for i in self.load(split) if i.skill is not None}))

    @property
    def splits(self) -> tuple[Split, ...]:
        """The available splits; without a source, all three."""
        return self.source.splits if self.source else SPLITS

    @property
    def has_one_source(self) -> bool:
        """Whether all splits are parts of one source, so that `whole` can join them."""
        return self.source is not None and self.source.has_one_source

    def share(self) -> str | None:
        """The part of its source that the split is, such as "2 of 20 problems (validation is 10%)".

        None if the split is the whole source.
        """
        return self.source.share(self.split, len(self.instances)) if self.source else None

    def on(self, split: Split) -> Self:
        """The same task on another split; loaded problems are shared."""
        other = copy.copy(self)
        other.split = split
        if isinstance(self._domain, TaskAsDomain):
            other._domain = None  # it makes environments of the split
        return other

    def whole(self) -> Self:
        """The same task with all problems of its one source in one split.

        Raises:
            ConfigurationError: if the splits have sources of their own.
        """
        if self.source is None or not self.source.has_one_source:
            raise ConfigurationError(
                f"{type(self).__name__} is not read from one file, so its splits cannot be taken "
                f"together: choose one of {', '.join(self.splits)}"
            )
        whole = self.on("validation")
        whole.source = self.source.whole()
        whole._loaded, whole._marks = {}, {}
        return whole

    def attempt(
        self,
        predictor: PredictorInterface,
        instances: Sequence[TaskInstance] | None = None,
        *,
        samples: int = 1,
        sampling: SamplingParameters | None = None,
        adapters: Sequence[Path | None] | None = None,
    ) -> list[CompletedTaskInstance]:
        """Let the predictor try problems; all attempts in the package go through this method.

        Args:
            instances: the problems; None means those of the split. They may come from elsewhere: a
                training record that became a problem is tried in the same way.
            samples: how often each is tried. The result has all first tries, in the order of
                `instances`, then all second ones, and so on.
            sampling: how replies are drawn; None uses the task's own. Later tries use seeds
                derived from its seed.
            adapters: the folder of the student's adapter for each problem (see `rollout`).

        Raises:
            ConfigurationError: before the predictor is asked, if the answers could not be judged,
                or for `adapters` with worked examples.
            PredictionError: if the predictor does not work at all.
        """
        instances = self.instances if instances is None else tuple(instances)
        predictor = self.with_examples(predictor)
        sampling = SamplingParameters.model_validate(sampling or self.sampling)
        making = self._making(instances)
        tries: list[CompletedTaskInstance] = []
        for sample in range(samples):
            seed = sample_seed(sampling.seed, sample)
            tries += rollout(
                predictor,
                instances,
                making,
                sampling=sampling.model_copy(update={"seed": seed}),
                others=self.others,
                chunk_size=self.chunk_size,
                threads=self.threads,
                adapters=adapters,
            )
        return tries if self.pressure is None else self.pressure.judged(tries, self._skills)

    def with_examples(self, predictor: PredictorInterface) -> PredictorInterface:
        """The predictor, which reads the task's examples if these are shown to it now."""
        if self.examples is None or not shows_to(predictor, self.examples_for):
            return predictor
        return WithExamples(predictor, self.examples)

    def shown(
        self, completed: Sequence[CompletedTaskInstance], iteration: int
    ) -> Sequence[CompletedTaskInstance]:
        """The results that the agent sees after an iteration: all of them, without a pressure."""
        if self.pressure is None:
            return completed
        shown = self.pressure.shown(self.instances, self._skills, iteration)
        ids = {instance.id for instance in shown}
        return [c for c in completed if c.instance.id in ids]

    def received(
        self, records: Sequence[TrainingDatum], earlier: Callable[[], Sequence[TrainingDatum]]
    ) -> Sequence[TrainingDatum]:
        """The records of an iteration as they reach the student: as given, without a pressure.

        `earlier` returns the accepted records of earlier iterations; only a pressure calls it.
        """
        if self.pressure is None or not self.pressure_on_records:
            return records
        return self.pressure.received(records, self._skills, earlier())

    def as_trained(self, records: Sequence[TrainingDatum]) -> Sequence[TrainingDatum]:
        """The records as the trainer gets them: with examples, if these are always shown."""
        if self.examples is None or self.examples_for == "base":
            return records
        return [record_with_examples(record, self.examples) for record in records]

    def record_fault(self, record: TrainingDatum) -> str | None:
        """Why the student must not be trained on a record, in a word, or None."""
        domain = self.domain_of(record.provenance)
        fault = domain.record_fault(record) if isinstance(domain, DialogueDomain) else None
        if fault is None and self.pressure is not None and self.pressure_on_records:
            fault = self.pressure.fault(record, self._skills)
        return fault

    def _making(self, instances: Sequence[TaskInstance]) -> Callable[[], TaskEnvironment]:
        """A maker of environments for these problems, from any split.

        Raises:
            ConfigurationError: if the domain cannot judge here.
        """
        if type(self).make_environment is not Task.make_environment:
            return self.make_environment
        self.domain.make_environment(instances).close()
        return partial(self.domain.make_environment, instances)

    @classmethod
    def evaluation_addition(cls) -> Any:
        """The class that adds checks, files and a table to evaluations of the task, or None.

        It has these methods, as that of the social scenes:

            of(config, overrides, adapter)      prepare one before its task is built, or None;
                                                may change the configuration
            again(settings, directory)          one for samples that are judged again
            check(task, predictor, instances)   refuse problems before any model is asked
            begin(task, directory)              prepare to keep what the problems leave, in the
                                                folder, or (None) in memory
            sum_up(files, samples, was_drawn=)  write files; return a table with `files`, further
                                                files by what is in them, and `document()`
            sum_up_again(files, samples, kept, folder)    the same; `kept` is what `begin` returned
        """
        return None

    @classmethod
    def options_for(cls, speakers: Sequence[str]) -> Sequence[str]:
        """Overrides that follow from new speakers on the command line, such as task.judges=[a]."""
        return ()

    def evaluate(self, predictor: PredictorInterface) -> list[CompletedTaskInstance]:
        """Let the predictor try every problem of the split, in order.

        Raises:
            ConfigurationError: before the predictor is asked, if the answers could not be judged.
            InvalidInstanceError: if a problem has changed since it was loaded.
        """
        self._refuse_changed()
        return self.attempt(predictor)

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """The report of the domain (see `report_on`): mean reward, accuracy, overall and by skill.

        Raises:
            EvaluationError: if no instance could be scored; the message has the first reason.
        """
        return self.domain.report(self.name, completed)


def training_problems(task: Task) -> Sequence[TaskInstance]:
    """The problems of the training split; empty if the task does not have one."""
    return task.on("train").instances if "train" in task.splits else ()


def sample_seed(seed: int, sample: int) -> int:
    """The seed of that sample; sample 0 is drawn with `seed` itself."""
    return seed if sample == 0 else derive_seed(seed, "sample", sample)


class TaskAsDomain(Domain):
    """The domain of a task that has none, but makes its environments itself."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @cached_property
    def prompt_template(self) -> PromptTemplate:  # type: ignore[override]
        """The text around the instructions in the prompts of the task's first two problems."""
        task = self._task
        instances = task.instances[:2] if task.offers("instances", "make_environment") else ()
        return template_read_off(self.make_environment, instances)

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        """An environment of the task, with the task's other speakers."""
        environment = self._task.make_environment()
        if not getattr(environment, "others", True):  # a rollout gives them, too
            environment.others = self._task.others
        return environment
