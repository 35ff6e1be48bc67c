"""A teacher that caches replies, keeps to its budget, and records every call.

Subclasses answer: `Teacher` asks an OpenAI-compatible server, `StudentTeacher` the student. They
define the teacher's `identity`, the `body` of a request, and `send`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.llm.budget import Budget, Price, TeacherUsage
from dataenvgym.llm.cache import open_cache
from dataenvgym.llm.teacher_ask import RequestOutcome, TeacherAsk, TeacherRequest
from dataenvgym.llm.teacher_log import TeacherLog
from dataenvgym.records import Conversation


class MeteredTeacher(ABC):
    """All methods may be called from any thread.

    A conversation that occurs k times in one call to `ask` asks for k samples. Each has a seed of
    its own (the first has the given one), and an entry of its own in the cache. Repeating the call
    with the same seed gives the same replies from the cache.

    Args:
        model: its name, for the transcript.
        concurrency: largest number of requests in progress at the same time.
        cache: None for none, a folder, or a Redis server ("redis://HOST:PORT").
        directory: the run directory; None keeps no transcript, and counts in memory.

    Attributes:
        is_tried: False sends the next question alone, for at most a second, so that a server that
            refuses the key or the model is asked once.
    """

    def __init__(
        self,
        model: str,
        *,
        concurrency: int,
        cache: str | Path | None,
        budget: Budget,
        price: Price | None,
        directory: str | Path | None,
    ) -> None:
        self.model = model
        self.cache = None if cache is None else open_cache(cache)
        self._budget = budget
        self._price = price
        self._directory = None if directory is None else Path(directory)
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
        log = self._log
        try:
            with log.transcript.page(len(conversations)) as page:
                return TeacherAsk(self, log, page, purpose).answers(conversations, sampling)
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
