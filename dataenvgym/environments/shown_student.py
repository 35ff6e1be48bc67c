"""The student as an agent sees it: agents can ask it, but cannot change it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NoReturn

from dataenvgym.errors import AgentError
from dataenvgym.interfaces import (
    Failure,
    ForwardingPredictor,
    PredictorInterface,
    Reply,
    SamplingParameters,
)
from dataenvgym.records import Conversation, PerformanceReport, Refusal


class TimedPredictor(ForwardingPredictor):
    """Adds up the `seconds` of waiting for replies.

    Seconds of waiting for several replies at the same time count once, including replies of the
    student's earlier adapters (see `AblePredictor`).
    """

    def __init__(self, predictor: PredictorInterface, waiting: _Stopwatch | None = None) -> None:
        super().__init__(predictor)
        self.title = type(predictor).__name__  # in errors it is this one's fault
        self._waiting = waiting or _Stopwatch()

    @property
    def seconds(self) -> float:
        """The total time of waiting for replies."""
        return self._waiting.seconds

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        self._waiting.add(1)
        try:
            return super().predict(conversations, sampling)
        finally:
            self._waiting.add(-1)

    def own_with_adapter(self, folder: Path | None) -> TimedPredictor:
        return TimedPredictor(self._predictor.with_adapter(folder), self._waiting)

    def own_submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        self._waiting.add(1)
        try:
            future: Future[Reply | Failure] = self._predictor.submit(conversation, sampling)
        except BaseException:
            self._waiting.add(-1)
            raise
        future.add_done_callback(lambda _: self._waiting.add(-1))
        return future


class _Stopwatch:
    """Runs while something is waited for; any thread may `add` 1 or -1."""

    def __init__(self) -> None:
        self.seconds, self._running, self._began = 0.0, 0, 0.0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            if not self._running:
                self._began = time.perf_counter()
            self._running += count
            if not self._running:
                self.seconds += time.perf_counter() - self._began


class ShownStudent(ForwardingPredictor):
    """The student without the methods that would change it; `trial` tries records.

    Only the environment trains the student. If an agent trained or reset it, a resumed run would
    not repeat that, and would continue with another student.

    `trial` is `TeachingEnvironment.trial`, or None if records cannot be tried.

    Attributes:
        refused: why the gate refused the training of the last iteration; None if it did not.
    """

    withheld = frozenset({"close"})

    def __init__(
        self,
        predictor: PredictorInterface,
        trial: Callable[[Any], PerformanceReport] | None = None,
        refused: Refusal | None = None,
    ) -> None:
        super().__init__(predictor)
        self._trial = trial
        self.refused = refused

    def trial(self, records: Any) -> PerformanceReport:
        """See `AblePredictor`; raises AgentError if records cannot be tried."""
        if self._trial is None:
            raise AgentError("records can be tried by agents, policies and engines only")
        return self._trial(records)

    def _refuse(self, *arguments: object, **named: object) -> NoReturn:
        raise AgentError(
            "the agent called train(), load() or reset() of the student, which only the "
            "environment may do: an agent asks it with predict(), and teaches it with the records "
            "that it returns. For experiments make your own predictor"
        )

    train = load = reset = remember_former = _refuse

    def __getattr__(self, name: str) -> Any:
        # options that could be changed, and `_predictor`, which a copy in the making has not yet
        if name.startswith("_") or name in ("trainer", "chat_template_kwargs"):
            raise AttributeError(name)
        return getattr(self._predictor, name)
