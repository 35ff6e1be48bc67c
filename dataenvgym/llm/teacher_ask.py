"""One call to a teacher's `ask`, from the cache to the last reply."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from dataenvgym.errors import BudgetSpentError, DataEnvGymError
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.llm.cache import request_key
from dataenvgym.llm.teacher_log import TeacherLog
from dataenvgym.llm.transcript import Page, TeacherCall
from dataenvgym.progress import Count, counting
from dataenvgym.records import Conversation
from dataenvgym.seeding import derive_seed

if TYPE_CHECKING:
    from dataenvgym.llm.metered_teacher import MeteredTeacher

RequestOutcome = Reply | Failure
_SEEDS = 2**31  # some servers accept no larger ones
_AHEAD_S = 1.0


@dataclass(frozen=True)
class TeacherRequest:
    """One question.

    Attributes:
        position: of its conversation in the call to `ask`.
        sampling: with the seed of this sample.
        sample: the number of equal conversations before it in that call.
    """

    position: int
    conversation: Conversation
    sampling: SamplingParameters
    sample: int


@dataclass
class _Sent:
    request: TeacherRequest
    future: Future[RequestOutcome]
    at: float  # seconds
    seconds: float = 0.0


class TeacherAsk:
    """One call to `ask`; the calling thread processes replies in the order of their arrival."""

    def __init__(self, teacher: MeteredTeacher, log: TeacherLog, page: Page, purpose: str) -> None:
        self._teacher = teacher
        self._log = log
        self._page = page
        self._purpose = purpose
        self._cache = teacher.cache
        self._keys: list[str] = []  # in the cache, by position; only with a cache
        self._outcomes: dict[int, RequestOutcome] = {}
        self._open: dict[int, _Sent] = {}
        self._ended: SimpleQueue[_Sent] = SimpleQueue()
        self._count: Count

    def answers(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[RequestOutcome]:
        """The result of each conversation; see `MeteredTeacher.ask`."""
        requests = list(_numbered(conversations, sampling))
        with counting(f"teacher calls ({self._purpose})", len(requests)) as self._count:
            return self._answered(requests)

    def _answered(self, requests: Sequence[TeacherRequest]) -> list[RequestOutcome]:
        if self._cache is not None:
            body, identity = self._teacher.body, self._teacher.identity()
            self._keys = [request_key(identity, body(r), r.sampling, r.sample) for r in requests]
        self._look_up(requests)
        waiting = deque(r for r in requests if r.position not in self._outcomes)
        n_unasked, spent = self._ask(waiting)
        if spent is not None:
            self._log.account.add(unasked=n_unasked)
            self._log.save()
        if spent is not None and not self._outcomes:
            raise BudgetSpentError(spent)
        unasked = Failure(reason=f"not asked: {spent}", outage=True)
        return [self._outcomes.get(r.position, unasked) for r in requests]

    def _look_up(self, requests: Sequence[TeacherRequest]) -> None:
        if self._cache is None:
            return
        replies = self._cache.get([self._keys[request.position] for request in requests])
        for request, reply in zip(requests, replies, strict=True):
            if reply is not None:
                self._log.account.add(cached=1)
                self._settle(request, reply, seconds=0.0, cached=True)

    def _ask(self, waiting: deque[TeacherRequest]) -> tuple[int, str | None]:
        """Send the waiting requests; return how many the budget does not reach, and the reason."""
        spent: str | None = None
        n_unasked = 0
        try:
            while self._open or waiting:
                batch: list[TeacherRequest] = []
                while waiting:
                    is_busy = bool(self._open or batch)
                    # wait for a place among the requests only if nothing else can be done
                    if (is_busy and not self._teacher.is_tried) or not self._teacher.slots.acquire(
                        blocking=not is_busy
                    ):
                        break
                    request = waiting.popleft()
                    if (spent := spent or self._log.account.reserve()) is None:
                        batch.append(request)
                        continue
                    self._teacher.slots.release()
                    n_unasked += 1
                if batch:
                    self._send(batch)
                    self._log.save(soon=True)
                if self._open:
                    self._wait()
                while not self._ended.empty():
                    self._take(self._ended.get())
                self._log.save(soon=True)
        finally:
            for sent in self._open.values():  # still open after an error
                sent.future.cancel()
                self._teacher.slots.release()
        return n_unasked, spent

    def _send(self, batch: list[TeacherRequest]) -> None:
        began = time.perf_counter()
        try:
            self._log.begin(len(batch))
            futures = self._teacher.send(batch)
        except BaseException:
            self._teacher.slots.release(len(batch))
            raise
        for request, future in zip(batch, futures, strict=True):
            sent = self._open[request.position] = _Sent(request, future, began)
            future.add_done_callback(partial(self._done, sent))

    def _done(self, sent: _Sent, _: Future[RequestOutcome]) -> None:
        """Pass an outcome from the thread of the answer to the thread that asked."""
        sent.seconds = time.perf_counter() - sent.at
        self._ended.put(sent)

    def _wait(self) -> None:
        """Take the next outcome; wait for the very first one only so long."""
        is_first = not self._teacher.is_tried
        with suppress(Empty):
            self._take(self._ended.get(timeout=_AHEAD_S if is_first else None))
        if is_first:
            self._teacher.is_tried = True

    def _take(self, sent: _Sent) -> None:
        request, error, outcome = sent.request, None, None
        try:
            try:
                outcome = sent.future.result()
            except DataEnvGymError as raised:  # nothing can be asked
                error, outcome = raised, Failure(reason=str(raised), outage=True)
            used: RequestOutcome = outcome
            if self._cache is not None and isinstance(outcome, Reply):
                used = self._cache.put(self._keys[request.position], outcome)
            self._settle(request, used, seconds=sent.seconds, cached=False)
            self._log.account.count(outcome)
            if error is not None:
                raise error
        finally:
            del self._open[request.position]
            self._teacher.slots.release()

    def _settle(
        self, request: TeacherRequest, outcome: RequestOutcome, *, seconds: float, cached: bool
    ) -> None:
        self._outcomes[request.position] = outcome
        self._count.add()
        reply = None
        if isinstance(outcome, Reply):
            cost = self._log.account.cost_of(outcome.prompt_tokens, outcome.completion_tokens)
            reply = self._outcomes[request.position] = outcome.model_copy(update={"cost": cost})
        tokens: tuple[int | None, int | None] = (0, 0)
        if not cached:
            tokens = (None, None)
            if reply is not None:
                tokens = (reply.prompt_tokens, reply.completion_tokens)
        self._page.put(
            request.position,
            TeacherCall(
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                purpose=self._purpose,
                model=self._teacher.model,
                messages=request.conversation,
                sampling=request.sampling,
                sample=request.sample,
                reply=None if reply is None else reply.text,
                finish_reason=None if reply is None else reply.finish_reason,
                failure=outcome.reason if isinstance(outcome, Failure) else None,
                cached=cached,
                prompt_tokens=tokens[0],
                completion_tokens=tokens[1],
                cost=self._log.account.cost_of(*tokens),
                seconds=round(seconds, 3),
            ),
        )


def _numbered(
    conversations: Sequence[Conversation], sampling: SamplingParameters
) -> Sequence[TeacherRequest]:
    seen: Counter[str] = Counter()
    requests = []
    for position, conversation in enumerate(conversations):
        text = "\n".join(message.model_dump_json() for message in conversation)
        sample = seen[text]
        seen[text] += 1
        drawn = sampling
        if sample and sampling.temperature > 0.0:
            seed = derive_seed(sampling.seed, "sample", sample) % _SEEDS
            drawn = sampling.model_copy(update={"seed": seed})
        requests.append(TeacherRequest(position, tuple(conversation), drawn, sample))
    return requests
