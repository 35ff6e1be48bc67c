"""The engine: many instances through their environments, in rounds or without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

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
from dataenvgym.rollouts.others import speakers_of
from dataenvgym.rollouts.speakers import Speaker
from dataenvgym.rollouts.student_speaker import with_student


def rollout(
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance],
    make_environment: Callable[[], EnvironmentInterface],
    *,
    sampling: SamplingParameters,
    others: Mapping[str, PredictorInterface | TeacherInterface] | None = None,
    chunk_size: int = 128,
    threads: int = 4,
) -> list[CompletedTaskInstance]:
    """Put every instance to the predictor, many at once; the results in the instances' order.

    Args:
        make_environment: makes a task environment, whose `reset` takes
            `options={"instance": instance}`, whose observation is the conversation, and whose
            `info` says `was_correct` at the end, and perhaps a `note`, and `scores` by name.
            Called once for each instance, in the pool.
        sampling: how to draw the student's replies; its `seed` also seeds the environments, and by
            that what they ask others.
        others: the models that environments ask (see `dataenvgym.tasks.Ask`), by name; a
            `StudentSpeaker` is the predictor itself, now or with a former adapter.
        chunk_size: how many conversations one `predict` call gets at most.
        threads: how many environments step at the same time.

    Raises:
        PredictionError: if the predictor or another speaker raises it, or does not give one reply
            or failure per conversation.
        BudgetSpentError: if another speaker is a teacher whose budget is spent.
        ConfigurationError: if a speaker raises it, or an option is impossible.
        StoreError: if an environment keeps its episodes in a store that is lost.
    """
    check_at_least(1, chunk_size=chunk_size, threads=threads)
    with with_student(speakers_of(others), predictor) as answering:
        models = {**answering, STUDENT: predictor}
        for model in models.values():
            if isinstance(model, Connects):
                # here, where Ctrl-C arrives; its errors are not one instance's failure
                model.connect()
        speakers = [Speaker(name, model) for name, model in models.items()]
        rollouts = [Rollout(i, make_environment, sampling) for i in instances]
        pool = ThreadPoolExecutor(threads, thread_name_prefix="rollout")
        try:
            with counting("problems", len(instances)) as count:
                Driver(speakers, rollouts, chunk_size, count).run(pool, threads)
            return [each.completed() for each in rollouts]
        finally:
            pool.shutdown(cancel_futures=True)
            for each in rollouts:
                each.close()
