"""The student as an agent sees it: agents can ask it, but cannot change it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from dataenvgym.errors import AgentError
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TrainingRun,
)
from dataenvgym.records import Conversation, PerformanceReport, TrainingDatum

_PASSED_ON = ("submit", "connect", "describe", "save", "with_adapter", "former_adapter")


class ShownStudent:
    """Forwards calls to `predictor`, except those that would change it; `trial` tries records.

    Only the environment trains the student. If an agent trained or reset it, a resumed run would
    not repeat that, and would continue with another student.

    Args:
        predictor: the student.
        trial: `TeachingEnvironment.trial`, or None if records cannot be tried.
    """

    def __init__(
        self,
        predictor: PredictorInterface,
        trial: Callable[[Any], PerformanceReport] | None = None,
    ) -> None:
        self._predictor = predictor
        self._trial = trial
        for name in _PASSED_ON:
            if hasattr(predictor, name):  # as an attribute: isinstance does not ask `__getattr__`
                setattr(self, name, getattr(predictor, name))

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        return self._predictor.predict(conversations, sampling)

    def trial(self, records: Any) -> PerformanceReport:
        """See `ShownStudentInterface`; raises AgentError if records cannot be tried."""
        if self._trial is None:
            raise AgentError("records can be tried by agents, policies and engines only")
        return self._trial(records)

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> NoReturn:
        """Raise AgentError."""
        self._refuse("train")

    def load(self, path: Path) -> NoReturn:
        """Raise AgentError."""
        self._refuse("load")

    def reset(self) -> NoReturn:
        """Raise AgentError."""
        self._refuse("reset")

    def remember_former(self, folder: Path | None) -> NoReturn:
        """Raise AgentError."""
        self._refuse("remember_former")

    def __getattr__(self, name: str) -> Any:
        if name == "_predictor":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self._predictor, name)

    def _refuse(self, method: str) -> NoReturn:
        raise AgentError(
            f"the agent called {method}() of the student, which only the environment may do: an "
            "agent asks it with predict(), and teaches it with the records that it returns. For "
            "experiments make your own predictor"
        )
