"""In rounds: all live environments step, then `predict` answers them all, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dataenvgym.errors import PredictionError
from dataenvgym.interfaces import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.rollouts.episode import InstanceEpisode
from dataenvgym.rollouts.faults import OF_ALL, TO_THE_CALLER, checked, describe

_MOST_IN_VAIN = 3


def in_rounds(
    predictor: PredictorInterface,
    episodes: Sequence[InstanceEpisode],
    sampling: SamplingParameters,
    chunk_size: int,
    pool: ThreadPoolExecutor,
) -> None:
    chunks = [episodes[i : i + chunk_size] for i in range(0, len(episodes), chunk_size)]
    _run_all(pool, [episode.begin for episode in episodes])
    while chunks := [live for chunk in chunks if (live := [e for e in chunk if e.live])]:
        steps: list[Callable[[], None]] = []
        for chunk in chunks:
            replies = _predict(predictor, chunk, sampling)
            for episode, reply in zip(chunk, replies, strict=True):
                if isinstance(reply, Failure):
                    episode.fail(reply.reason)
                else:
                    steps.append(partial(episode.answer, reply))
        _run_all(pool, steps)


def _predict(
    predictor: PredictorInterface, chunk: Sequence[InstanceEpisode], sampling: SamplingParameters
) -> Sequence[Reply | Failure]:
    """One reply or failure for each episode of the chunk; an exception is not for all of them."""
    try:
        replies = list(predictor.predict([e.conversation for e in chunk], sampling))
    except TO_THE_CALLER:
        raise
    except Exception as error:
        reason = describe("predictor", error, chunk[0].instance, among=len(chunk))
        if len(chunk) == 1 or isinstance(error, OF_ALL):
            return [Failure(reason=reason)] * len(chunk)
        return _one_by_one(predictor, chunk, sampling, reason)
    if len(replies) != len(chunk):
        raise PredictionError(
            f"{type(predictor).__name__}.predict gave {len(replies)} replies to {len(chunk)} "
            "conversations, expected one Reply or Failure for each"
        )
    return [checked(reply, "predict") for reply in replies]


def _one_by_one(
    predictor: PredictorInterface,
    chunk: Sequence[InstanceEpisode],
    sampling: SamplingParameters,
    reason: str,
) -> Sequence[Reply | Failure]:
    """One reply or failure for each episode of a chunk at which `predict` raised, for `reason`.

    Where the first `_MOST_IN_VAIN` are not answered either, the others are not asked: the
    predictor fails whatever it is asked.
    """
    replies: list[Reply | Failure] = []
    for episode in chunk:
        in_vain = len(replies) >= _MOST_IN_VAIN and all(isinstance(r, Failure) for r in replies)
        replies += [Failure(reason=reason)] if in_vain else _predict(predictor, [episode], sampling)
    return replies


def _run_all(pool: ThreadPoolExecutor, tasks: Iterable[Callable[[], None]]) -> None:
    for _ in pool.map(lambda task: task(), tasks):
        pass
