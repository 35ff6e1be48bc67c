"""The base of predictors that answer with another one, and pass on what else that one can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

from dataenvgym.interfaces.predictors import (
    Closes,
    Connects,
    Describes,
    Failure,
    ManyAdapters,
    MeasuresRecords,
    PredictorInterface,
    Refuses,
    Reply,
    SamplingParameters,
    Saves,
    SharesBase,
    Submits,
    TriesRecords,
)
from dataenvgym.records import Conversation

CAPABILITIES = (
    *(Submits, Connects, Describes, Saves, Closes, Refuses, SharesBase),
    *(MeasuresRecords, TriesRecords),
)
"""The optional protocols of predictors; training is not passed on."""

METHODS = tuple(name for each in CAPABILITIES for name in vars(each) if not name.startswith("_"))


class ForwardingPredictor:
    """Answers with `predictor`, and has each method of `CAPABILITIES` that `predictor` has.

    To change one, define it as `own_NAME`: it is offered if `predictor` has NAME. A method NAME is
    always offered. A subclass with another `predict` offers `submit` only if it defines it.

    Attributes:
        withheld: methods that are not passed on.
    """

    withheld: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, predictor: PredictorInterface) -> None:
        self._predictor: Any = predictor
        kind = type(self)
        changed = kind.predict is not ForwardingPredictor.predict
        for name in METHODS:
            own = getattr(kind, f"own_{name}", None)
            bypasses = name == "submit" and changed and own is None
            if hasattr(kind, name) or name in self.withheld or bypasses:
                continue
            if (method := getattr(predictor, name, None)) is not None:
                # as an attribute: isinstance does not ask `__getattr__`
                setattr(self, name, method if own is None else own.__get__(self))

    @property
    def has_learned(self) -> bool | None:
        """Whether the student was trained; None if the predictor does not say."""
        said: bool | None = getattr(self._predictor, "has_learned", None)
        return said

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """See `PredictorInterface`."""
        replies: Sequence[Reply | Failure] = self._predictor.predict(conversations, sampling)
        return replies


class HearingPredictor(ForwardingPredictor, ABC):
    """Answers with a predictor, and hears each reply, however it was asked for."""

    def __init__(self, predictor: PredictorInterface) -> None:
        super().__init__(predictor)
        self.title = getattr(predictor, "title", type(predictor).__name__)
        if isinstance(predictor, ManyAdapters):
            self.train_each, self.predict_each = predictor.train_each, self._predict_each

    @abstractmethod
    def hear(self, conversation: Conversation, reply: Reply) -> None:
        """Called with each reply, by any thread; not with failures."""

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """Ask for the replies, and hear them."""
        return self._heard(conversations, super().predict(conversations, sampling))

    def own_submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """Ask for one reply, and hear it when it comes."""
        future: Future[Reply | Failure] = self._predictor.submit(conversation, sampling)

        def hear(done: Future[Reply | Failure]) -> None:
            if not done.cancelled() and done.exception() is None:
                self._heard([conversation], [done.result()])

        future.add_done_callback(hear)
        return future

    def _predict_each(
        self,
        adapters: Sequence[Path | None],
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        replies: list[Reply | Failure] = self._predictor.predict_each(
            adapters, conversations, sampling
        )
        self._heard(conversations, replies)
        return replies

    def _heard(
        self, conversations: Sequence[Conversation], replies: Sequence[Reply | Failure]
    ) -> Sequence[Reply | Failure]:
        # what is not a list of replies is refused where the predictor is asked
        if isinstance(replies, Sequence):
            for conversation, reply in zip(conversations, replies, strict=False):
                if isinstance(reply, Reply):
                    self.hear(conversation, reply)
        return replies
