"""The inner loop: an adapter is trained on a self-edit, and answers questions without the context.

    records of an edit -> adapter, from the untouched student -> answers, graded by the task

The untouched student (the base) answers each question once. A loop without records trains nothing:
its answers are those of the base. Each loop has a folder, named by what is trained and asked (so
another loop of the same name starts anew), with `adapted.json` when it is done: a killed call is
continued by the same call.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from operator import not_
from pathlib import Path
from typing import Any

from pydantic import Field

from dataenvgym import exact_json
from dataenvgym.errors import (
    ConfigurationError,
    DataEnvGymError,
    InvalidInstanceError,
)
from dataenvgym.events import counting, warn_run
from dataenvgym.interfaces import AdapterJob, Failure, TrainablePredictorInterface, TrainingRun, can
from dataenvgym.records import CompletedTaskInstance, Model, TaskInstance, TrainingDatum
from dataenvgym.records.checksums import load, save
from dataenvgym.students.llama_factory.training_config import options_of
from dataenvgym.students.trainers import TrainerInterface
from dataenvgym.tasks.adapted_task import attemptable
from dataenvgym.tasks.base import Task

_BASE, _ADAPTED = "base_answers.json", "adapted.json"


class Answer(Model):
    """A student's answer to a question.

    Attributes:
        question: the id of the problem.
        text: its last message, or None if it never answered.
        was_correct: False if `error` is set.
        error: why it could not be scored; such an answer is neither right nor wrong.
    """

    question: str
    text: str | None
    was_correct: bool
    error: str | None = None

    @classmethod
    def of(cls, completed: CompletedTaskInstance) -> Answer:
        return cls(
            question=completed.instance.id,
            text=completed.response,
            was_correct=completed.was_correct,
            error=completed.error,
        )


class Adapted(Model):
    """The answers of the base and of an adapter to the same questions, in their order.

    Attributes:
        n_records: the number of records that the adapter was trained on.
        error: why there is no adapter although there are records; `answers` is then empty.
        has_diverged: whether that is because the training did.
    """

    name: str
    n_records: int
    base: tuple[Answer, ...]
    answers: tuple[Answer, ...]
    error: str | None = None
    has_diverged: bool = Field(default=False, exclude_if=not_)

    def on(self, part: slice) -> Adapted:
        """The answers to some of the questions."""
        return self.model_copy(update={"base": self.base[part], "answers": self.answers[part]})

    @property
    def baseline_accuracy(self) -> float | None:
        """The share of scored answers of the base that are right; None without any."""
        return accuracy(self.base)

    @property
    def adapter_accuracy(self) -> float | None:
        """The share of scored answers of the adapter that are right; None without any."""
        return accuracy(self.answers)

    @property
    def gains(self) -> tuple[int | None, ...]:
        """For each question 1 (only the adapter is right), -1 (only the base), 0, or None."""
        if self.error is not None:
            return (None,) * len(self.base)
        return tuple(
            None if before.error or after.error else after.was_correct - before.was_correct
            for before, after in zip(self.base, self.answers, strict=True)
        )

    @property
    def gain(self) -> float | None:
        """The mean of `gains` over the questions that both were scored on."""
        known = [gain for gain in self.gains if gain is not None]
        return sum(known) / len(known) if known else None

    @property
    def n_unscored(self) -> int:
        """The number of questions without a gain: a training or a call failed."""
        return self.gains.count(None)


def accuracy(answers: Sequence[Answer]) -> float | None:
    """The share of right answers among those that were scored; None if there are none."""
    scored = [answer.was_correct for answer in answers if answer.error is None]
    return sum(scored) / len(scored) if scored else None


@dataclass(frozen=True)
class InnerLoop:
    """One training from the untouched student, and the questions for it.

    Attributes:
        name: of its folder, in which `content_hash` names another one; no other loop of the same
            call has it.
        questions: problems of the task.
        records: what is trained; none for an edit that failed.
        seed: of the training.
        trainer: trains with options of its own (see `trainer_with`); None is the student's.
    """

    name: str
    questions: Sequence[TaskInstance]
    records: Sequence[TrainingDatum]
    seed: int = 0
    trainer: TrainerInterface | None = None

    def content_hash(self, trainer: TrainerInterface | None) -> str:
        """The hash of all but the name; `trainer` is the student's."""
        own = self.trainer or trainer
        options = None if own is None else options_of(own)
        content = [
            [record.model_dump(mode="json") for record in self.records],
            [question.model_dump(mode="json") for question in self.questions],
            self.seed,
            None if options is None else options.model_dump(mode="json"),
        ]
        text = exact_json.dumps(content, option=exact_json.SORT_KEYS)
        return hashlib.sha256(text).hexdigest()[:32]


def adapt(
    task: Task,
    predictor: TrainablePredictorInterface,
    loops: Sequence[InnerLoop],
    directory: str | Path,
    *,
    retry_errors: bool = False,
    at_once: int = 64,
) -> list[Adapted]:
    """Run the inner loops that are not done yet; return the results of all, in their order.

    Afterwards the predictor is the untouched student. One of `AblePredictor` trains and asks up to
    `at_once` adapters together; another one learns and answers loop by loop.

    Args:
        directory: gets `NAME/HASH/` for each loop, and the answers of the base. Another call with
            the same student may use it again.
        retry_errors: run the loops again that have an error or an unscored answer. Those of a group
            that was interrupted are all run again, so that they are asked in the same batches as in
            an undisturbed run.
        at_once: the most adapters that are on disk.

    Raises:
        ConfigurationError: if the task has no problems to try, or two loops have the same name.
        InvalidInstanceError: if two questions have the same id.
        RunDirectoryError: if a file in the directory is damaged.
    """
    tried, directory = attemptable(task), Path(directory)
    names = [loop.name for loop in loops]
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigurationError(f"two inner loops have the name {twice!r}, expected one each")
    base = _base_answers(tried, predictor, loops, directory / _BASE, retry_errors=retry_errors)
    trainer = getattr(predictor, "trainer", None)
    results: list[Adapted] = []
    with counting("inner loops", len(loops)) as count:
        for start in range(0, len(loops), at_once):
            group = loops[start : start + at_once]
            folders = [directory / one.name / one.content_hash(trainer) for one in group]
            files = [folder / _ADAPTED for folder in folders]
            found: list[Adapted | None] = [load(file, Adapted) for file in files]
            is_open = [one is None or (retry_errors and one.n_unscored > 0) for one in found]
            again = range(len(group)) if None in found else [i for i, o in enumerate(is_open) if o]
            count.skip(len(group) - len(again))
            for i, result in zip(
                again,
                _run(tried, predictor, {folders[i]: group[i] for i in again}, base),
                strict=True,
            ):
                save(files[i], result)
                found[i] = result
                count.add(1)
            for folder in folders:
                shutil.rmtree(folder / "adapter", ignore_errors=True)
            results += (one for one in found if one is not None)
    if n_unscored := sum(one.n_unscored for one in results):
        reasons = ((one.error, *(a.error for a in one.base + one.answers)) for one in results)
        first = next(filter(None, chain.from_iterable(reasons)))
        warn_run(
            f"{n_unscored} of {sum(len(one.base) for one in results)} answers of adapters could "
            f"not be compared with the base, the first because of this: {first}"
        )
    return results


def _base_answers(
    task: Task,
    predictor: TrainablePredictorInterface,
    loops: Sequence[InnerLoop],
    file: Path,
    *,
    retry_errors: bool,
) -> dict[str, Answer]:
    """The answers of the untouched student by question; those in the file are not asked again."""
    questions = {question.id: question for loop in loops for question in loop.questions}
    for question in (question for loop in loops for question in loop.questions):
        if question != questions[question.id]:
            raise InvalidInstanceError(
                f"task {task.name!r}: two questions of inner loops have the id {question.id!r}, "
                "expected one for each id"
            )
    answers = load(file, list[Answer]) or []
    known = {a.question: a for a in answers if not (retry_errors and a.error)}
    if missing := [question for id, question in questions.items() if id not in known]:
        predictor.reset()
        known |= {c.instance.id: Answer.of(c) for c in task.attempt(predictor, missing)}
        save(file, list(known.values()))
    return known


def _run(
    task: Task,
    predictor: TrainablePredictorInterface,
    loops: Mapping[Path, InnerLoop],
    base: dict[str, Answer],
) -> Iterator[Adapted]:
    """Run loops in their folders."""
    if not loops:
        return
    trained = [(folder, loop) for folder, loop in loops.items() if loop.records]
    each = _together if can(predictor, "train_each", "predict_each") else _in_turn
    jobs = [AdapterJob(one.records, TrainingRun(at, one.seed), one.trainer) for at, one in trained]
    try:
        answers = each(task, predictor, jobs, [loop.questions for _, loop in trained])
        found = {loop.name: of for (_, loop), of in zip(trained, answers, strict=True)}
    finally:
        predictor.reset()
    for loop in loops.values():
        before = tuple(base[question.id] for question in loop.questions)
        after = found.get(loop.name, before)
        yield Adapted(
            name=loop.name,
            n_records=len(loop.records),
            base=before,
            answers=() if isinstance(after, Failure) else after,
            error=after.reason if isinstance(after, Failure) else None,
            has_diverged=isinstance(after, Failure) and after.diverged,
        )


def _together(
    task: Task,
    predictor: Any,
    jobs: Sequence[AdapterJob],
    questions: Sequence[Sequence[TaskInstance]],
) -> Iterator[tuple[Answer, ...] | Failure]:
    """The answers of each adapter to its questions; all are trained and asked together."""
    trained = predictor.train_each(jobs)
    pairs = [
        (question, adapter)
        for asked, adapter in zip(questions, trained, strict=True)
        if not isinstance(adapter, Failure)
        for question in asked
    ]
    answers: Iterator[Answer] = iter(())
    if pairs:
        instances, adapters = zip(*pairs, strict=True)
        answers = map(Answer.of, task.attempt(predictor, instances, adapters=adapters))
    for asked, adapter in zip(questions, trained, strict=True):
        yield adapter if isinstance(adapter, Failure) else tuple(next(answers) for _ in asked)


def _in_turn(
    task: Task,
    predictor: TrainablePredictorInterface,
    jobs: Sequence[AdapterJob],
    questions: Sequence[Sequence[TaskInstance]],
) -> Iterator[tuple[Answer, ...] | Failure]:
    """The answers of each adapter to its questions, trained and asked one after another."""
    for job, asked in zip(jobs, questions, strict=True):
        predictor.reset()
        with trained_by(predictor, job.trainer):
            try:
                predictor.train(job.records, job.run)
            except DataEnvGymError as error:
                yield Failure.of_training(error)
                continue
        yield tuple(map(Answer.of, task.attempt(predictor, asked)))


def trainer_of(predictor: object) -> TrainerInterface:
    """The predictor's trainer; ConfigurationError if it has no attribute `trainer`."""
    trainer: TrainerInterface | None = getattr(predictor, "trainer", None)
    if trainer is None:
        raise ConfigurationError(
            f"{type(predictor).__name__} has no attribute `trainer`, and this training has options "
            "of its own: use dataenvgym's predictors, or give it such an attribute"
        )
    return trainer


@contextmanager
def trained_by(predictor: Any, trainer: TrainerInterface | None) -> Iterator[None]:
    """Let the predictor use another trainer until the block ends; None leaves its own.

    Raises:
        ConfigurationError: as `trainer_of`.
    """
    if trainer is None:
        yield
        return
    own = trainer_of(predictor)
    predictor.trainer = trainer
    try:
        yield
    finally:
        predictor.trainer = own
