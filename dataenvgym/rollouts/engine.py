"""The engine: runs many instances through their environments, in rounds or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dataenvgym.errors import check_at_least
from dataenvgym.interfaces import (
    Connects,
    EnvironmentInterface,
    PredictorInterface,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.progress import counting
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.rollouts.driver import Driver
from dataenvgym.rollouts.faults import STUDENT
from dataenvgym.rollouts.instance_rollout import Rollout
from dataenvgym.rollouts.speakers import AdaptedStudents, Speaker, speakers_of, with_student
from dataenvgym.threads import ContextThreadPool


def rollout(
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance],
    make_environment: Callable[[], EnvironmentInterface],
    *,
    sampling: SamplingParameters,
    others: Mapping[str, PredictorInterface | TeacherInterface] | None = None,
    chunk_size: int = 128,
    threads: int = 4,
    adapters: Sequence[Path | None] | None = None,
) -> list[CompletedTaskInstance]:
    """Run every instance with the predictor, many at once; the results are in the same order.

    Args:
        make_environment: makes a task environment. Its `reset` takes
            `options={"instance": instance}`, its observation is the conversation, and its `info`
            has `was_correct` at the end, and may have `note`, and `scores` by name. Called once for
            each instance, in the pool.
        sampling: how to draw the student's replies; its `seed` also seeds the environments, and so
            their questions to others.
        others: the models that environments ask (see `dataenvgym.tasks.Ask`), by name; a
            `StudentSpeaker` is the predictor itself, now or with an earlier adapter.
        chunk_size: largest number of conversations in one `predict` call.
        threads: how many environments step at the same time.
        adapters: the folder of the student's adapter for each instance, None for the untouched
            student; the predictor must be one of `ManyAdapters`. Without it, the student answers
            as it is.

    Raises:
        PredictionError: if the predictor or another speaker raises it, or does not return one reply
            or failure per conversation.
        BudgetSpentError: if another speaker is a teacher whose budget is spent.
        ConfigurationError: if a speaker raises it, or an option is invalid.
        StoreError: if an environment keeps its episodes in a store that is lost.
    """
    check_at_least(1, chunk_size=chunk_size, threads=threads)
    with with_student(speakers_of(others), predictor) as answering:
        models = {**answering, STUDENT: predictor}
        for model in models.values():
            if isinstance(model, Connects):
                # in this thread, which gets Ctrl-C; its errors are not one instance's failure
                model.connect()
        speakers = [Speaker(name, model) for name, model in models.items()]
        rollouts = [Rollout(i, make_environment, sampling) for i in instances]
        if adapters is not None:
            speakers[-1] = AdaptedStudents(predictor, rollouts, adapters)
        pool = ContextThreadPool(threads, thread_name_prefix="rollout")
        try:
            with counting("problems", len(instances)) as count:
                Driver(speakers, rollouts, chunk_size, count).run(pool, threads)
            return [each.completed() for each in rollouts]
        finally:
            for each in rollouts:
                each.close()
