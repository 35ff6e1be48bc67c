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
from dataenvgym.llm.books import Books
from dataenvgym.llm.cache import request_key
from dataenvgym.llm.transcript import Page, TeacherCall
from dataenvgym.records import Conversation
from dataenvgym.seeding import derive_seed

if TYPE_CHECKING:
    from dataenvgym.llm.metered_teacher import MeteredTeacher

Outcome = Reply | Failure
_SEEDS = 2**31  # some servers take no larger ones
_AHEAD_S = 1.0


@dataclass(frozen=True)
class Request:
    """One question.

    Attributes:
        position: of its conversation in the call to `ask`.
        sampling: with the seed of this sample.
        sample: how many equal conversations came before it in that call.
    """

    position: int
    conversation: Conversation
    sampling: SamplingParameters
    sample: int


@dataclass
class _Sent:
    request: Request
    future: Future[Outcome]
    at: float  # seconds
    seconds: float = 0.0


class Enquiry:
    """One call to `ask`; its replies are taken in the thread that asks, as they come."""

    def __init__(self, teacher: MeteredTeacher, books: Books, page: Page, purpose: str) -> None:
        self._teacher = teacher
        self._books = books
        self._page = page
        self._purpose = purpose
        self._cache = teacher.cache
        self._keys: list[str] = []
        self._outcomes: dict[int, Outcome] = {}
        self._open: dict[int, _Sent] = {}
        self._ended: SimpleQueue[_Sent] = SimpleQueue()

    def answers(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Outcome]:
        """What came of each conversation; see `MeteredTeacher.ask`."""
        requests = list(_numbered(conversations, sampling))
        self._look_up(requests)
        waiting = deque(r for r in requests if r.position not in self._outcomes)
        spent = self._ask(waiting)
        if spent is not None:
            self._books.account.count_unasked(len(waiting))
            self._books.save()
        if spent is not None and not self._outcomes:
            raise BudgetSpentError(spent)
        unasked = Failure(reason=f"not asked: {spent}")
        return [self._outcomes.get(r.position, unasked) for r in requests]

    def _look_up(self, requests: Sequence[Request]) -> None:
        if self._cache is None:
            return
        teacher, identity = self._teacher, self._teacher.identity()
        self._keys = [
            request_key(identity, teacher.body(r), r.sampling, r.sample) for r in requests
        ]
        for request, reply in zip(requests, self._cache.get(self._keys), strict=True):
            if reply is not None:
                self._books.account.count_cached()
                self._settle(request, reply, seconds=0.0, cached=True)

    def _ask(self, waiting: deque[Request]) -> str | None:
        """Ask what is waiting; if the budget does not reach all, why the rest still waits."""
        spent: str | None = None
        try:
            while self._open or (waiting and spent is None):
                batch: list[Request] = []
                while waiting and spent is None and self._take_slot(batch):
                    if (spent := self._books.account.reserve()) is None:
                        batch.append(waiting.popleft())
                    else:
                        self._teacher.slots.release()
                if batch:
                    self._send(batch)
                    self._books.save(soon=True)
                if self._open:
                    self._take_next()
                while not self._ended.empty():
                    self._take(self._ended.get())
                self._books.save(soon=True)
        finally:
            for sent in self._open.values():  # left behind by an error
                sent.future.cancel()
                self._teacher.slots.release()
        return spent

    def _take_slot(self, batch: list[Request]) -> bool:
        """Take a place among the requests under way; waited for if nothing else is to be done."""
        if not self._teacher.is_tried and (self._open or batch):
            return False
        return self._teacher.slots.acquire(blocking=not (self._open or batch))

    def _send(self, batch: list[Request]) -> None:
        began = time.perf_counter()
        try:
            self._books.begin(len(batch))
            futures = self._teacher.send(batch)
        except BaseException:
            self._teacher.slots.release(len(batch))
            raise
        for request, future in zip(batch, futures, strict=True):
            sent = self._open[request.position] = _Sent(request, future, began)
            future.add_done_callback(partial(self._done, sent))

    def _done(self, sent: _Sent, _: Future[Outcome]) -> None:
        """Called in the thread that has the answer: the rest is done in the one that asked."""
        sent.seconds = time.perf_counter() - sent.at
        self._ended.put(sent)

    def _take_next(self) -> None:
        """Wait for the next outcome; for the first one of a teacher no longer than a second."""
        if self._teacher.is_tried:
            self._take(self._ended.get())
            return
        with suppress(Empty):
            self._take(self._ended.get(timeout=_AHEAD_S))
        self._teacher.is_tried = True

    def _take(self, sent: _Sent) -> None:
        request, error, outcome = sent.request, None, None
        try:
            try:
                outcome = sent.future.result()
            except DataEnvGymError as raised:  # nothing can be asked
                error, outcome = raised, Failure(reason=str(raised))
            self._settle(request, outcome, seconds=sent.seconds, cached=False)
            if self._cache is not None and isinstance(outcome, Reply):
                self._cache.put(self._keys[request.position], outcome)
            self._books.account.count(outcome)
            if error is not None:
                raise error
        finally:
            del self._open[request.position]
            self._teacher.slots.release()

    def _settle(self, request: Request, outcome: Outcome, *, seconds: float, cached: bool) -> None:
        self._outcomes[request.position] = outcome
        reply = outcome if isinstance(outcome, Reply) else None
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
                cost=self._books.account.cost_of(*tokens),
                seconds=round(seconds, 3),
            ),
        )


def _numbered(
    conversations: Sequence[Conversation], sampling: SamplingParameters
) -> Sequence[Request]:
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
        requests.append(Request(position, tuple(conversation), drawn, sample))
    return requests
