"""Rollouts: any predictor through any task environments, to completed instances.

A predictor that only has `predict` is driven in rounds: all live environments step in a thread
pool, then `predict` answers their conversations in chunks. A chunk is made of the live ones among
`chunk_size` neighbouring instances, so that what is batched with what depends on the instances
and the options alone.

A predictor that also has `submit(conversation, sampling) -> Future` is driven without rounds: each
conversation goes on as soon as its reply is there, in whichever thread of the pool is free.

Who is to blame: an exception from the predictor or a `Failure`, and an exception from the
environment, end the instances that they belong to with an `error`, never with a wrong answer. A
predictor that cannot work at all says so to the caller, with a `PredictionError` (its server died)
or a `ConfigurationError`; one that breaks its contract (too few replies, or something that is no
reply) is a bug, and a `PredictionError` too.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from typing import Any

from dataenvgym.errors import ConfigurationError, PredictionError
from dataenvgym.interfaces import (
    EnvironmentInterface,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
)
from dataenvgym.records import CompletedTaskInstance, Conversation, TaskInstance
from dataenvgym.seeding import derive_seed

_log = logging.getLogger(__name__)
_TO_THE_CALLER = (PredictionError, ConfigurationError)


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
            `info` says `was_correct` at the end, and perhaps a `note`. Called once for each
            instance, in the pool.
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
    episodes = [_Episode(i, make_environment, sampling.seed) for i in instances]
    if (connect := getattr(predictor, "connect", None)) is not None:
        connect()  # here, where Ctrl-C arrives, and what it raises is not one instance's failure
    submit = getattr(predictor, "submit", None)
    pool = ThreadPoolExecutor(threads, thread_name_prefix="rollout")
    try:
        if submit is None:
            _in_rounds(predictor, episodes, sampling, chunk_size, pool)
        else:
            _WithoutRounds(submit, episodes, sampling).run(pool, threads)
        return [episode.completed() for episode in episodes]
    finally:
        pool.shutdown(cancel_futures=True)
        for episode in episodes:
            episode.close()


class _Episode:
    """One instance on its way through its environment. Its steps never raise: they `fail` it."""

    def __init__(
        self,
        instance: TaskInstance,
        make_environment: Callable[[], EnvironmentInterface],
        seed: int,
    ):
        self.instance = instance
        self.conversation: Conversation = ()
        self.live = True
        self._make_environment = make_environment
        self._seed = derive_seed(seed, "rollout", instance.id)
        self._environment: EnvironmentInterface | None = None
        self._reward = 0.0
        self._was_correct = False
        self._error: str | None = None
        self._note: str | None = None

    def begin(self) -> None:
        try:
            self._environment = self._make_environment()
            self.conversation, _ = self._environment.reset(
                seed=self._seed, options={"instance": self.instance}
            )
        except Exception as error:
            self.fail(_describe("environment", error, self.instance))
            self.close()

    def answer(self, reply: Reply) -> None:
        assert self._environment is not None
        try:
            self.conversation, reward, terminated, truncated, info = self._environment.step(
                reply.text
            )
            self._reward += float(reward)
            if terminated or truncated:
                self._was_correct = bool(info.get("was_correct", False))
                self._note = str(info["note"]) if "note" in info else None
                self.live = False
        except Exception as error:
            self.fail(_describe("environment", error, self.instance))
        if not self.live:
            self.close()

    def fail(self, reason: str) -> None:
        self._error = reason
        self.live = False

    def close(self) -> None:
        """Give the environment's resources back; the result stands, even if that fails."""
        environment, self._environment = self._environment, None
        try:
            if environment is not None and hasattr(environment, "close"):
                environment.close()
        except Exception as error:
            _describe("environment (while closing)", error, self.instance)

    def completed(self) -> CompletedTaskInstance:
        failed = self._error is not None
        return CompletedTaskInstance(
            instance=self.instance,
            transcript=self.conversation,
            reward=0.0 if failed else self._reward,
            was_correct=not failed and self._was_correct,
            error=self._error,
            note=self._note,
        )


# --- in rounds ----------------------------------------------------------------------------------


def _in_rounds(
    predictor: PredictorInterface,
    episodes: Sequence[_Episode],
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
    predictor: PredictorInterface, chunk: Sequence[_Episode], sampling: SamplingParameters
) -> Sequence[Reply | Failure]:
    """One reply or failure for each episode of the chunk."""
    try:
        replies = list(predictor.predict([e.conversation for e in chunk], sampling))
    except _TO_THE_CALLER:
        raise
    except Exception as error:
        reason = _describe("predictor", error, chunk[0].instance, among=len(chunk))
        return [Failure(reason=reason)] * len(chunk)
    if len(replies) != len(chunk):
        raise PredictionError(
            f"{type(predictor).__name__}.predict gave {len(replies)} replies to {len(chunk)} "
            "conversations, expected one Reply or Failure for each"
        )
    return [_checked(reply, "predict") for reply in replies]


def _run_all(pool: ThreadPoolExecutor, tasks: Iterable[Callable[[], None]]) -> None:
    for _ in pool.map(lambda task: task(), tasks):
        pass


# --- without rounds -----------------------------------------------------------------------------


class _WithoutRounds:
    """An episode is either ready to go on, in the hands of a thread, or waiting for its reply.

    A thread takes an episode that is ready, steps it and asks for its next reply; a reply that
    arrives makes its episode ready. Nothing else passes between threads.
    """

    def __init__(
        self,
        submit: Callable[[Conversation, SamplingParameters], Future[Reply | Failure]],
        episodes: Sequence[_Episode],
        sampling: SamplingParameters,
    ) -> None:
        self._submit = submit
        self._episodes = episodes
        self._sampling = sampling
        self._ready: SimpleQueue[_Episode | None] = SimpleQueue()  # None: it is over
        self._asked: dict[_Episode, Future[Reply | Failure]] = {}
        self._lock = threading.Lock()
        self._n_live = len(episodes)
        self._over = False

    def run(self, pool: ThreadPoolExecutor, threads: int) -> None:
        """Bring all episodes to their end, or raise what is for the caller."""
        if not self._episodes:
            return
        for episode in self._episodes:
            self._ready.put(episode)
        workers = [pool.submit(self._work) for _ in range(threads)]
        try:
            for worker in workers:
                worker.result()
        finally:
            self._end()
            wait(workers)
            for future in self._asked.values():
                future.cancel()

    def _work(self) -> None:
        try:
            while (episode := self._ready.get()) is not None and not self._over:
                self._advance(episode)
        finally:
            self._end()

    def _end(self) -> None:
        """End this thread's work, and by that the next one's."""
        self._over = True
        self._ready.put(None)

    def _advance(self, episode: _Episode) -> None:
        if (future := self._asked.pop(episode, None)) is None:
            episode.begin()
        elif isinstance(reply := _reply(future, episode), Failure):
            episode.fail(reply.reason)
        else:
            episode.answer(reply)
        if episode.live:
            self._ask(episode)
        if not episode.live:
            with self._lock:
                self._n_live -= 1
                if not self._n_live:
                    self._end()

    def _ask(self, episode: _Episode) -> None:
        try:
            future = self._submit(episode.conversation, self._sampling)
        except _TO_THE_CALLER:
            raise
        except Exception as error:
            episode.fail(_describe("predictor", error, episode.instance))
        else:
            self._asked[episode] = future
            future.add_done_callback(lambda _: self._ready.put(episode))


def _reply(future: Future[Reply | Failure], episode: _Episode) -> Reply | Failure:
    try:
        reply = future.result()
    except _TO_THE_CALLER:
        raise
    except Exception as error:
        return Failure(reason=_describe("predictor", error, episode.instance))
    return _checked(reply, "submit")


# --- both ---------------------------------------------------------------------------------------


def _checked(reply: Any, method: str) -> Reply | Failure:
    if not isinstance(reply, Reply | Failure):
        raise PredictionError(f"{method} gave {reply!r}, expected a Reply or a Failure")
    return reply


def _describe(who: str, error: Exception, instance: TaskInstance, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, instance.id, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"
