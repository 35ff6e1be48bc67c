"""Measures the time spent waiting for a predictor, apart from the time for scoring."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from dataenvgym.interfaces import (
    Closes,
    Connects,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    SharesBase,
    Submits,
)
from dataenvgym.records import Conversation


class TimedPredictor:
    """Forwards calls to `predictor`, and adds up the `seconds` of waiting for replies.

    It offers `submit` if `predictor` does. Seconds of waiting for several replies at the same time
    count once, including replies of the student's earlier adapters (see `SharesBase`).
    """

    def __init__(self, predictor: PredictorInterface, waiting: _Stopwatch | None = None) -> None:
        self._predictor = predictor
        self.title = type(predictor).__name__  # in errors it is this one's fault
        self._waiting = waiting or _Stopwatch()
        if isinstance(predictor, Submits):
            self.submit = self._timed(predictor.submit)
        if isinstance(predictor, Connects):
            self.connect = predictor.connect  # starting up is not waiting for replies
        if isinstance(predictor, Closes):
            self.close = predictor.close
        if isinstance(predictor, SharesBase):
            self._shared = predictor
            self.with_adapter = self._timed_beside
            self.former_adapter = predictor.former_adapter
            self.remember_former = predictor.remember_former

    @property
    def seconds(self) -> float:
        """The total time of waiting for replies."""
        return self._waiting.seconds

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        self._waiting.begin()
        try:
            return self._predictor.predict(conversations, sampling)
        finally:
            self._waiting.end()

    def _timed_beside(self, folder: Path | None) -> TimedPredictor:
        return TimedPredictor(self._shared.with_adapter(folder), self._waiting)

    def _timed(
        self, submit: Callable[[Conversation, SamplingParameters], Future[Reply | Failure]]
    ) -> Callable[[Conversation, SamplingParameters], Future[Reply | Failure]]:
        def timed(
            conversation: Conversation, sampling: SamplingParameters
        ) -> Future[Reply | Failure]:
            self._waiting.begin()
            try:
                future = submit(conversation, sampling)
            except BaseException:
                self._waiting.end()
                raise
            future.add_done_callback(lambda _: self._waiting.end())
            return future

        return timed


class _Stopwatch:
    """Runs from the first `begin` to the last `end`; any thread may call either."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._running = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            if not self._running:
                self._began = time.perf_counter()
            self._running += 1

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self.seconds += time.perf_counter() - self._began
