"""Runs asking generators to their end; each one is ready, is being stepped, or waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from dataenvgym.errors import BudgetSpentError
from dataenvgym.events import ContextThreadPool, Count, counting
from dataenvgym.interfaces import (
    Ask,
    EnvironmentInterface,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TeacherInterface,
    can,
)
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.records.instances import INFRASTRUCTURE
from dataenvgym.tasks.rollouts.instance_rollout import STUDENT, Asking, Rollout, T
from dataenvgym.tasks.rollouts.speakers import AdaptedStudents, Speaker, speakers_of, with_student

ReplyOrFailure = Reply | Failure
Ready = tuple[int, Future[ReplyOrFailure] | ReplyOrFailure | None]
"""The position of a rollout, and the reply that it waited for; None if it has not begun."""


class Driver:
    """Threads take rollouts that are ready, and step them to their next ask.

    A speaker with `submit` is asked at once, and its reply makes the rollout ready. The others are
    asked in the thread that calls `run`, when all rollouts wait for them: first the speakers that
    environments ask, and the student when no environment waits. The threads exchange nothing else.

    Args:
        speakers: in the order in which they are asked.
        chunk_size: how many neighboring rollouts may share a batch.
        count: counts rollouts that have ended.
    """

    def __init__(
        self,
        speakers: Sequence[Speaker],
        rollouts: Sequence[Asking[Any]],
        chunk_size: int,
        count: Count | None = None,
    ) -> None:
        self._speakers = {speaker.name: speaker for speaker in speakers}
        self._rollouts = rollouts
        self._chunk_size = chunk_size
        self._count = count
        self._ready: SimpleQueue[Ready | None] = SimpleQueue()  # None: it is over
        self._futures: set[Future[ReplyOrFailure]] = set()
        self._waiting: list[int] = []  # for a speaker without `submit`
        self._n_moving = len(rollouts)  # neither ended nor waiting
        self._lock = threading.Lock()  # of the two
        self._stalled: SimpleQueue[None] = SimpleQueue()  # filled when nothing moves
        self._over = False

    def run(self, pool: ContextThreadPool | None = None, threads: int = 1) -> None:
        """Run all rollouts to their end, or raise an exception that is for the caller.

        Args:
            pool: for the threads that step the rollouts, shut down at the end; None steps them in
                this thread.
        """
        if not self._rollouts:
            return
        for position in range(len(self._rollouts)):
            self._ready.put((position, None))
        workers = [pool.submit(self._work) for _ in range(threads) if pool]
        try:
            while waiting := self._next_round(steps=pool is None):
                answered: list[Ready] = []
                with counting("replies", len(waiting)) as count:
                    for speaker, chunk in self._chunks(waiting):
                        replies = speaker.predict([self._rollouts[i] for i in chunk])
                        answered += zip(chunk, replies, strict=True)
                        count.reach(len(answered))
                for ready in answered:
                    self._ready.put(ready)
            for worker in workers:
                worker.result()
        finally:
            self._end()
            if pool is not None:
                pool.shutdown(cancel_futures=True)
            for future in self._futures:
                future.cancel()

    # --- in the caller's thread ---

    def _next_round(self, *, steps: bool) -> list[int]:
        """The rollouts whose speakers are asked next, in order; none if all have ended."""
        while steps and self._n_moving and (ready := self._ready.get()):
            self._advance(*ready)
        self._stalled.get()
        with self._lock:
            students = [i for i in self._waiting if self._rollouts[i].ask.who == STUDENT]
            others = [i for i in self._waiting if self._rollouts[i].ask.who != STUDENT]
            asked, self._waiting = (others, students) if others else (students, [])
            self._n_moving += len(asked)
        if not asked or self._over:
            self._end()
            return []
        return sorted(asked)

    def _chunks(self, waiting: Sequence[int]) -> Iterator[tuple[Speaker, list[int]]]:
        """Batches of questions, each for one speaker."""
        for name, speaker in self._speakers.items():
            chunks: dict[tuple[int, str], list[int]] = {}
            for i in waiting:
                if (ask := self._rollouts[i].ask).who == name:
                    alike = i // self._chunk_size, ask.sampling.model_dump_json()
                    chunks.setdefault(alike, []).append(i)
            for chunk in chunks.values():
                yield speaker, chunk

    # --- in the pool ---

    def _work(self) -> None:
        try:
            while (ready := self._ready.get()) is not None and not self._over:
                self._advance(*ready)
        finally:
            self._end()

    def _end(self) -> None:
        """End this thread's work, and with it that of the next thread and of the caller."""
        self._over = True
        self._ready.put(None)
        self._stalled.put(None)

    def _advance(
        self, position: int, reply: Future[ReplyOrFailure] | ReplyOrFailure | None
    ) -> None:
        rollout = self._rollouts[position]
        if reply is None:
            rollout.begin()
        elif isinstance(reply, Future):
            self._futures.discard(reply)
            rollout.answer(self._speakers[rollout.ask.who].result(reply, rollout))
        else:
            rollout.answer(reply)
        if rollout.live and self._submit(position, rollout):
            return  # another thread has it now, and may have ended it already
        if not rollout.live and self._count is not None:
            self._count.add()
        with self._lock:
            if rollout.live:
                self._waiting.append(position)
            self._n_moving -= 1
            if not self._n_moving:
                self._stalled.put(None)

    def _submit(self, position: int, rollout: Asking[Any]) -> bool:
        """Whether the reply is on its way; if not, it waits for a round, or has failed."""
        who = rollout.ask.who
        if (speaker := self._speakers.get(who)) is None:
            there = ", ".join(name for name in self._speakers if name != STUDENT) or "none"
            rollout.fail(
                f"{who}: the environment asks it, and there is no such speaker (there are: "
                f"{there}): give one, with task.others.{who} or rollout(..., others=...)",
                INFRASTRUCTURE,
            )
            return False
        future = speaker.submit(rollout)
        if isinstance(future, Failure):
            rollout.answer(future)
        if not isinstance(future, Future):
            return False
        self._futures.add(future)
        future.add_done_callback(lambda done: self._ready.put((position, done)))
        return True


def answered_together(
    asks: Sequence[Generator[Ask, Any, T]], speakers: Mapping[str, PredictorInterface]
) -> list[T]:
    """Run generators to their end, and return their results; ask in batches, as for rollouts.

    A generator must accept failures (`Ask.may_fail`); a spent budget is one, too.
    """
    return [each.result for each in asked_together(asks, speakers)]


def asked_together(
    asks: Sequence[Generator[Ask, Any, T]], speakers: Mapping[str, PredictorInterface]
) -> list[Asking[T]]:
    """As `answered_together`; each has its `result` and its `usage`."""
    asking = [Asking(f"question {n}", each) for n, each in enumerate(asks, start=1)]
    models = [_InRounds(name, model) for name, model in speakers.items()]
    Driver(models, asking, max(1, len(asking))).run()
    return asking


class _InRounds(Speaker):
    def submit(self, asking: Asking[Any]) -> None:
        return None

    def predict(self, chunk: Sequence[Asking[Any]]) -> Sequence[ReplyOrFailure]:
        try:
            return super().predict(chunk)
        except BudgetSpentError as error:
            return [Failure(reason=f"not asked: {error}")] * len(chunk)


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
            student; the predictor must be one of `AblePredictor`. Without it, the student answers
            as it is.

    Raises:
        PredictionError: if the predictor or another speaker raises it, or does not return one reply
            or failure per conversation.
        BudgetSpentError: if another speaker is a teacher whose budget is spent.
        ConfigurationError: if a speaker raises it.
        StoreError: if an environment keeps its episodes in a store that is lost.
    """
    with with_student(speakers_of(others), predictor) as answering:
        models = {**answering, STUDENT: predictor}
        for model in models.values():
            if can(model, "connect"):
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
