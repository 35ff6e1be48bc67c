"""Tells the time that a predictor takes from the time that scoring takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from dataenvgym.interfaces import (
    Connects,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    Submits,
)
from dataenvgym.records import Conversation


class TimedPredictor:
    """Passes calls on to `predictor` and adds up the `seconds` in which replies were waited for.

    A predictor that offers `submit` is passed on with it; seconds in which several replies were
    waited for count once.
    """

    def __init__(self, predictor: PredictorInterface) -> None:
        self._predictor = predictor
        self._waiting = _Stopwatch()
        if isinstance(predictor, Submits):
            self.submit = self._timed(predictor.submit)
        if isinstance(predictor, Connects):
            self.connect = predictor.connect  # a start is no waiting for replies

    @property
    def seconds(self) -> float:
        """How long replies were waited for, in all."""
        return self._waiting.seconds

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        self._waiting.begin()
        try:
            return self._predictor.predict(conversations, sampling)
        finally:
            self._waiting.end()

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
