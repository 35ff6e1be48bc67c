"""The engine: many instances through their environments, in rounds or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import EnvironmentInterface, PredictorInterface, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.rollouts.episode import InstanceEpisode
from dataenvgym.rollouts.rounds import in_rounds
from dataenvgym.rollouts.submission import WithoutRounds


def rollout(
    predictor: PredictorInterface,
    instances: Sequence[TaskInstance],
    make_environment: Callable[[], EnvironmentInterface],
    *,
    sampling: SamplingParameters,
    chunk_size: int = 128,
    threads: int = 4,
) -> list[CompletedTaskInstance]:
    """Put every instance to the predictor, many at once; the results in the instances' order.

    Args:
        make_environment: makes a task environment, whose `reset` takes
            `options={"instance": instance}`, whose observation is the conversation, and whose
            `info` says `was_correct` at the end, and perhaps a `note`, and `scores` by name.
            Called once for each instance, in the pool.
        sampling: how to draw replies; its `seed` also seeds the environments.
        chunk_size: how many conversations one `predict` call gets at most.
        threads: how many environments step at the same time.

    Raises:
        PredictionError: if the predictor raises it, or does not give one reply or failure per
            conversation.
        ConfigurationError: if the predictor raises it, or an option is impossible.
    """
    for name, value in (("chunk_size", chunk_size), ("threads", threads)):
        if value < 1:
            raise ConfigurationError(f"{name} is {value}, expected 1 or more")
    episodes = [InstanceEpisode(i, make_environment, sampling.seed) for i in instances]
    if (connect := getattr(predictor, "connect", None)) is not None:
        connect()  # here, where Ctrl-C arrives, and what it raises is not one instance's failure
    submit = getattr(predictor, "submit", None)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rollout")
    try:
        if submit is None:
            in_rounds(predictor, episodes, sampling, chunk_size, pool)
        else:
            WithoutRounds(submit, episodes, sampling).run(pool, threads)
        return [episode.completed() for episode in episodes]
    finally:
        pool.shutdown(cancel_futures=True)
        for episode in episodes:
            episode.close()
