"""The base of predictors that answer with another one, and pass on what else that one can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dataenvgym.interfaces.predictors import (
    Closes,
    Connects,
    Describes,
    Failure,
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
