"""Trains many adapters of one untouched student (`ManyAdapters.train_each`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from dataenvgym.errors import DataEnvGymError
from dataenvgym.events import counting
from dataenvgym.interfaces import AdapterJob, Failure
from dataenvgym.records import TrainingDatum
from dataenvgym.records.tool_formats import COMPLETION, ToolFormat
from dataenvgym.students.predictors.checkpoints import (
    checked_kwargs,
    mark_training,
    train_on,
    write_training,
)
from dataenvgym.students.trainers import InProcessTrainer, TrainerInterface


def train_jobs(
    jobs: Sequence[AdapterJob],
    *,
    trainer: TrainerInterface,
    student: str,
    initial: Path | None,
    tool_format: ToolFormat,
    chat_template_kwargs: Mapping[str, Any],
    threads: int,
    check: Callable[[Sequence[TrainingDatum]], object] = lambda records: None,
) -> list[Path | Failure]:
    """The adapters' folders, or why a job failed; those of the in-process trainer share steps.

    Args:
        trainer: of jobs without their own.
        student, initial, tool_format, chat_template_kwargs: see `train_on`.
        threads: CPU cores to compute on.
        check: raises for records that the predictor cannot be trained on.
    """
    from dataenvgym.students.trainers.together import TrainingRequest, train_each

    def begun(job: AdapterJob) -> Path | Failure | TrainingRequest:
        own = job.trainer or trainer
        shares = isinstance(own, InProcessTrainer) and type(own).train is InProcessTrainer.train
        do: Callable[..., Path | None] = write_training if shares else train_on
        try:
            check(job.records)
            if job.trainer is not None:  # the predictor has checked its own
                is_bare = tool_format is COMPLETION
                checked_kwargs(chat_template_kwargs, student, own, is_bare=is_bare)
            path = do(
                job.records,
                replace(job.run, start="base"),
                trainer=own,
                student=student,
                current=lambda: None,
                initial=initial,
                tool_format=tool_format,
                chat_template_kwargs=chat_template_kwargs,
            )
        except DataEnvGymError as error:
            counter.add()
            return _failure(error)
        if path is None:  # it was trained before
            counter.skip(1)
            return job.run.directory / "adapter"
        if not shares:
            counter.add()
            return path
        request = TrainingRequest(cast(InProcessTrainer, own), path)
        request.done.add_done_callback(lambda _: request.context.run(counter.add))
        request.done.add_done_callback(lambda _: mark_training(path.parent))
        return request

    def outcome(one: Path | Failure | TrainingRequest) -> Path | Failure:
        try:
            return one.done.result() if isinstance(one, TrainingRequest) else one
        except DataEnvGymError as error:
            return _failure(error)

    with counting("adapters", len(jobs)) as counter:  # before the requests, which copy the context
        ended = list(map(begun, jobs))
        requests = [one for one in ended if isinstance(one, TrainingRequest)]
        train_each(requests, threads)
    return list(map(outcome, ended))


def _failure(error: DataEnvGymError) -> Failure:
    return Failure(reason=f"{type(error).__name__}: {error}")
