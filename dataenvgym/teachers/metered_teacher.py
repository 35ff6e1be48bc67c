"""A teacher that caches replies, keeps to its budget, and records every call.

Subclasses answer: `Teacher` asks an OpenAI-compatible server, `StudentTeacher` the student. They
define the teacher's `identity`, the `body` of a request, and `send`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue

from dataenvgym.errors import BudgetSpentError, DataEnvGymError
from dataenvgym.events import Count, counting
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.options import Free, Given
from dataenvgym.records import Conversation
from dataenvgym.seeding import derive_seed
from dataenvgym.teachers.budget import Price, TeacherUsage, parse_budget, parse_price
from dataenvgym.teachers.cache import open_cache, request_key
from dataenvgym.teachers.teacher_log import Line, TeacherCall, TeacherLog

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


@dataclass(frozen=True, kw_only=True)
class MeterOptions:
    """The options of every teacher.

    Attributes:
        cache: None for none, a folder, or a Redis server ("redis://HOST:PORT").
        max_requests, max_tokens, max_cost: the budget of the run (see `Budget`); None is unlimited.
        price: `{prompt: ..., completion: ...}` in US dollars for a million tokens; None if it is
            unknown.
        directory: the run directory; None keeps no transcript, and counts in memory.
    """

    cache: Free[str | Path | None] = None
    max_requests: Free[int | None] = None
    max_tokens: Free[int | None] = None
    max_cost: Free[float | None] = None
    price: Free[Price | Mapping[str, float] | None] = None
    directory: Given[str | Path | None] = None


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
        self._price = parse_price(given.price)
        self._budget = parse_budget(
            given.max_requests, given.max_tokens, given.max_cost, self._price
        )
        self._directory = None if given.directory is None else Path(given.directory)
        self.is_tried = True
        self.slots = threading.Semaphore(concurrency)
        self._lock = threading.Lock()
        self._opened: TeacherLog | None = None

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
        log, title = self._log, f"teacher calls ({purpose})"
        try:
            with log.lines(len(conversations)) as lines, counting(title, len(lines)) as count:
                return _Asked(self, log, lines, count, purpose).answers(conversations, sampling)
        finally:
            log.save()

    def count_malformed(self, n: int = 1) -> None:
        """Count answers that could not be used, in `usage.malformed`."""
        self._log.account.add(malformed=n)
        self._log.save()

    @property
    def usage(self) -> TeacherUsage:
        """Requests and costs so far, including those before the run was resumed."""
        return self._log.account.usage

    @property
    def _log(self) -> TeacherLog:
        with self._lock:
            if self._opened is None:
                self._opened = TeacherLog(self._directory, self._budget, self._price)
            return self._opened


class _Asked:
    """One call to `ask`; the calling thread takes replies in the order of their arrival."""

    def __init__(
        self,
        teacher: MeteredTeacher,
        log: TeacherLog,
        lines: list[Line],
        count: Count,
        purpose: str,
    ) -> None:
        self._teacher = teacher
        self._log = log
        self._lines = lines
        self._count = count
        self._purpose = purpose
        self._keys: list[str] = []  # in the cache, by position; only with a cache
        self._outcomes: dict[int, RequestOutcome] = {}
        self._open: dict[int, Future[RequestOutcome]] = {}
        self._n_held = 0  # of the teacher's slots
        self._ended: SimpleQueue[tuple[TeacherRequest, float]] = SimpleQueue()  # and its seconds

    def answers(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[RequestOutcome]:
        """The result of each conversation; see `MeteredTeacher.ask`."""
        requests = _numbered(conversations, sampling)
        if (cache := self._teacher.cache) is not None:
            body, identity = self._teacher.body, self._teacher.identity()
            self._keys = [request_key(identity, body(r), r.sampling, r.sample) for r in requests]
            for request, reply in zip(requests, cache.get(self._keys), strict=True):
                if reply is not None:
                    self._log.account.add(cached=1)
                    self._settle(request, reply, seconds=0.0, cached=True)
        waiting = deque(r for r in requests if r.position not in self._outcomes)
        if (spent := self._ask(waiting)) is not None:
            self._log.account.add(unasked=len(waiting))
            if not self._outcomes:
                raise BudgetSpentError(spent)
        unasked = Failure(reason=f"not asked: {spent}", outage=True)
        return [self._outcomes.get(r.position, unasked) for r in requests]

    def _ask(self, waiting: deque[TeacherRequest]) -> str | None:
        """Send waiting requests as far as the budget allows; return why it allows no more."""
        teacher, spent = self._teacher, None
        try:
            while self._open or (waiting and spent is None):
                batch: list[TeacherRequest] = []
                while waiting and spent is None:
                    is_busy = bool(self._open or batch)
                    # wait for a place among the requests only if nothing else can be done
                    if (is_busy and not teacher.is_tried) or not teacher.slots.acquire(
                        blocking=not is_busy
                    ):
                        break
                    self._n_held += 1
                    if (spent := self._log.account.reserve()) is None:
                        batch.append(waiting.popleft())
                    else:
                        self._free()
                if batch:
                    began = time.perf_counter()
                    self._log.begin(len(batch))
                    for request, future in zip(batch, teacher.send(batch), strict=True):
                        self._open[request.position] = future
                        future.add_done_callback(partial(self._pass_on, request, began))
                if self._open:
                    with suppress(Empty):  # wait for the very first one only so long
                        self._take(*self._ended.get(timeout=None if teacher.is_tried else _AHEAD_S))
                    teacher.is_tried = True
                while not self._ended.empty():
                    self._take(*self._ended.get())
                self._log.save(soon=True)
        finally:
            for future in self._open.values():  # still open after an error
                future.cancel()
            while self._n_held:
                self._free()
        return spent

    def _free(self) -> None:
        self._n_held -= 1
        self._teacher.slots.release()

    def _pass_on(self, request: TeacherRequest, began: float, _: Future[RequestOutcome]) -> None:
        """Pass an outcome from the thread of the answer to the thread that asked."""
        self._ended.put((request, time.perf_counter() - began))

    def _take(self, request: TeacherRequest, seconds: float) -> None:
        error: DataEnvGymError | None = None
        outcome: RequestOutcome
        try:
            try:
                outcome = self._open[request.position].result()
            except DataEnvGymError as raised:  # nothing can be asked
                error, outcome = raised, Failure(reason=str(raised), outage=True)
            used = outcome
            if self._teacher.cache is not None and isinstance(outcome, Reply):
                used = self._teacher.cache.put(self._keys[request.position], outcome)
            self._settle(request, used, seconds=seconds, cached=False)
            self._log.account.count(outcome)
            if error is not None:
                raise error
        finally:
            del self._open[request.position]
            self._free()

    def _settle(
        self, request: TeacherRequest, outcome: RequestOutcome, *, seconds: float, cached: bool
    ) -> None:
        cost_of = self._log.account.cost_of
        reply, reason = (outcome, None) if isinstance(outcome, Reply) else (None, outcome.reason)
        tokens = (reply.prompt_tokens, reply.completion_tokens) if reply else (None, None)
        self._outcomes[request.position] = (
            reply.model_copy(update={"cost": cost_of(*tokens)}) if reply else outcome
        )
        tokens = (0, 0) if cached else tokens
        call = TeacherCall(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            purpose=self._purpose,
            model=self._teacher.model,
            messages=request.conversation,
            sampling=request.sampling,
            sample=request.sample,
            reply=None if reply is None else reply.text,
            finish_reason=None if reply is None else reply.finish_reason,
            failure=reason,
            cached=cached,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost=cost_of(*tokens),
            seconds=round(seconds, 3),
        )
        self._count.add()
        self._log.write(self._lines[request.position], call)


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
