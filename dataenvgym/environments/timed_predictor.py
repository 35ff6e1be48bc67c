"""Tells the time that a predictor takes from the time that scoring takes."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dataenvgym.interfaces import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Conversation


class TimedPredictor:
    """Passes calls on to `predictor` and adds up the `seconds` they take.

    A predictor that offers `submit` is passed on with it; its answers then overlap with scoring
    and are not told apart.
    """

    def __init__(self, predictor: PredictorInterface) -> None:
        self._predictor = predictor
        self.seconds = 0.0
        if submit := getattr(predictor, "submit", None):
            self.submit = submit

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        began = time.perf_counter()
        try:
            return self._predictor.predict(conversations, sampling)
        finally:
            self.seconds += time.perf_counter() - began
