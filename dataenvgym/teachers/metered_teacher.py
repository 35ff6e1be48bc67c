"""A teacher that caches replies, keeps to its budget, and records every call.

Subclasses answer: `Teacher` asks an OpenAI-compatible server, `StudentTeacher` the student. They
define the teacher's `identity`, the `body` of a request, and `send`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from dataenvgym.errors import BudgetSpentError, ConfigurationError, DataEnvGymError
from dataenvgym.events import counting
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.seeding import derive_seed
from dataenvgym.teachers.budget import MeterOptions, TeacherUsage, cost_of, parse_price
from dataenvgym.teachers.cache import open_cache, request_key
from dataenvgym.teachers.teacher_log import TeacherCall, TeacherLog

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


class MeteredTeacher(ABC):
    """All methods may be called from any thread.

    A conversation that occurs k times in one call to `ask` asks for k samples. Each has a seed of
    its own (the first has the given one), and an entry of its own in the cache. Repeating the call
    with the same seed gives the same replies from the cache.

    Args:
        model: its name, for the transcript.
        concurrency: largest number of requests in progress at the same time.

    Attributes:
        is_tried: False sends the next question alone, for at most a second, so that a server that
            refuses the key or the model is asked once.

    Raises:
        ConfigurationError: for an invalid value, and for `max_cost` without a price.
    """

    def __init__(self, model: str, concurrency: int, given: MeterOptions) -> None:
        self.model = model
        self.cache = None if given.cache is None else open_cache(given.cache)
        self.is_tried = True
        self.slots = threading.Semaphore(concurrency)
        self._given = given
        self._lock = threading.Lock()
        self._opened: TeacherLog | None = None
        self._price = parse_price(given.price)
        if given.max_cost is not None and self._price is None:
            raise ConfigurationError(
                f"max_cost is {given.max_cost!r}, and the price of the model is not known: set "
                "price, such as {prompt: 0.15, completion: 0.6}, or limit max_tokens instead"
            )

    @abstractmethod
    def identity(self) -> str:
        """The present identity, for the cache: another identity never gets these replies."""

    @abstractmethod
    def body(self, request: TeacherRequest) -> bytes:
        """The request with everything that its reply depends on, for the cache."""

    @abstractmethod
    def send(self, requests: Sequence[TeacherRequest]) -> Sequence[Future[RequestOutcome]]:
        """Ask; a future for each request. Cancelling a future abandons its request."""

    def ask(
        self,
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
        *,
        purpose: str,
    ) -> list[RequestOutcome]:
        """One reply or failure for each conversation, in their order.

        Cached answers cost nothing and need no budget. The other conversations are asked in their
        order, as far as the budget allows.

        Args:
            purpose: of the calls, for the transcript.

        Raises:
            BudgetSpentError: if the budget allows no answer at all. Otherwise, conversations that
                the budget does not reach are failures.
            ExternalError: if the cache cannot be reached.
            ServerError: if the server refuses the key, or does not have the model.
        """
        if not conversations:
            return []
        requests = _numbered(conversations, sampling)
        log, cache, keys = self._log, self.cache, list[str]()
        outcomes: dict[int, RequestOutcome] = {}
        counted = counting(f"teacher calls ({purpose})", len(requests))
        try:
            with log.lines(len(requests)) as lines, counted as count:

                def settle(
                    at: TeacherRequest, outcome: RequestOutcome, seconds: float | None = None
                ) -> None:
                    """Keep an outcome and write its line; without seconds, it is from the cache."""
                    outcomes[at.position], call = self._priced(at, outcome, purpose, seconds)
                    log.write(lines[at.position], call)
                    count.add()

                if cache is not None:
                    identity = self.identity()
                    keys += [
                        request_key(identity, self.body(r), r.sampling, r.sample) for r in requests
                    ]
                    for request, reply in zip(requests, cache.get(keys), strict=True):
                        if reply is not None:
                            log.add(cached=1)
                            settle(request, reply)
                waiting = deque(r for r in requests if r.position not in outcomes)
                with closing(self._answered(waiting)) as answered:
                    for request, future, seconds in answered:
                        error: DataEnvGymError | None = None
                        try:
                            outcome = future.result()
                        except DataEnvGymError as raised:  # nothing can be asked
                            error, outcome = raised, Failure(reason=str(raised), outage=True)
                        used = outcome
                        if cache is not None and isinstance(outcome, Reply):
                            used = cache.put(keys[request.position], outcome)
                        settle(request, used, seconds)
                        log.count(outcome)
                        if error is not None:
                            raise error
                if waiting:
                    log.add(unasked=len(waiting))
                    if not outcomes:
                        raise BudgetSpentError(log.spent())
                unasked = Failure(reason=f"not asked: {log.spent()}", outage=True)
                return [outcomes.get(r.position, unasked) for r in requests]
        finally:
            log.save()

    def _answered(
        self, waiting: deque[TeacherRequest]
    ) -> Generator[tuple[TeacherRequest, Future[RequestOutcome], float], None, None]:
        """Send requests as far as the budget allows; yield each when it ends, with its seconds."""
        ended: SimpleQueue[tuple[TeacherRequest, Future[RequestOutcome], float]] = SimpleQueue()
        open_: dict[int, Future[RequestOutcome]] = {}
        n_held = 0  # of the slots
        try:
            while True:
                batch: list[TeacherRequest] = []
                # wait for a place among the requests only if nothing else can be done
                while (
                    waiting
                    and (self.is_tried or not (open_ or batch))
                    and self.slots.acquire(blocking=not (open_ or batch))
                ):
                    n_held += 1
                    if not self._log.reserve():
                        n_held -= 1
                        self.slots.release()
                        break
                    batch.append(waiting.popleft())
                if batch:
                    self._log.begin(len(batch))
                    pass_on = partial(_pass_on, ended, time.perf_counter())
                    for request, future in zip(batch, self.send(batch), strict=True):
                        open_[request.position] = future
                        future.add_done_callback(partial(pass_on, request))
                if not open_:
                    return
                with suppress(Empty):  # wait for the very first one only so long
                    timeout = None if self.is_tried else _AHEAD_S
                    while True:
                        one = ended.get(timeout=timeout)
                        del open_[one[0].position]
                        yield one
                        n_held -= 1
                        self.slots.release()
                        timeout = 0.0
                self.is_tried = True
                self._log.save(soon=True)
        finally:
            for future in open_.values():  # still open after an error
                future.cancel()
            if n_held:
                self.slots.release(n_held)

    def _priced(
        self, request: TeacherRequest, outcome: RequestOutcome, purpose: str, seconds: float | None
    ) -> tuple[RequestOutcome, TeacherCall]:
        """The outcome with its cost, and its line in the transcript."""
        reply, reason = (outcome, None) if isinstance(outcome, Reply) else (None, outcome.reason)
        tokens = (reply.prompt_tokens, reply.completion_tokens) if reply else (None, None)
        if reply is not None:
            outcome = reply.model_copy(update={"cost": cost_of(self._price, *tokens)})
        tokens = (0, 0) if seconds is None else tokens
        return outcome, TeacherCall(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            purpose=purpose,
            model=self.model,
            messages=request.conversation,
            sampling=request.sampling,
            sample=request.sample,
            reply=None if reply is None else reply.text,
            finish_reason=None if reply is None else reply.finish_reason,
            failure=reason,
            cached=seconds is None,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost=cost_of(self._price, *tokens),
            seconds=round(seconds or 0.0, 3),
        )

    def count_malformed(self, n: int = 1) -> None:
        """Count answers that could not be used, in `usage.malformed`."""
        self._log.add(malformed=n)
        self._log.save()

    @property
    def usage(self) -> TeacherUsage:
        """Requests and costs so far, including those before the run was resumed."""
        return self._log.usage

    @property
    def _log(self) -> TeacherLog:
        with self._lock:
            if self._opened is None:
                folder = self._given.directory
                folder = None if folder is None else Path(folder)
                self._opened = TeacherLog(folder, self._given, self._price)
            return self._opened


def _pass_on(
    ended: SimpleQueue[Any], began: float, request: TeacherRequest, future: Future[RequestOutcome]
) -> None:
    """Pass an outcome from the thread of the answer to the thread that asked."""
    ended.put((request, future, time.perf_counter() - began))


def _numbered(
    conversations: Sequence[Conversation], sampling: SamplingParameters
) -> list[TeacherRequest]:
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
