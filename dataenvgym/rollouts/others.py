"""The speakers besides the student: predictors, and teachers wrapped as predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import (
    Closes,
    Describes,
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TeacherInterface,
)
from dataenvgym.records import Conversation
from dataenvgym.records.faults import FAULTS
from dataenvgym.rollouts.faults import STUDENT

_TAKEN = (STUDENT, *FAULTS)
_MOST_THREADS = 256  # they only wait; a teacher limits its own requests in progress


def speakers_of(
    others: Mapping[str, PredictorInterface | TeacherInterface] | None,
) -> dict[str, PredictorInterface]:
    """The other speakers by name, each as a predictor.

    Raises:
        ConfigurationError: for a name that is reserved for the student or the environment, and for
            an object that cannot be asked.
    """
    if not isinstance(others or {}, Mapping):
        raise ConfigurationError(f"others is {others!r}, expected predictors or teachers by name")
    return {name: _as_predictor(name, model) for name, model in (others or {}).items()}


def describe_speakers(others: Mapping[str, PredictorInterface]) -> dict[str, Any]:
    """Their descriptions for the run directory: the result of `describe()`, or the class."""
    return {name: _described(model) for name, model in sorted(others.items())}


def close_speakers(others: Mapping[str, Any]) -> None:
    """Close those that can be closed."""
    for model in others.values():
        if isinstance(model, Closes):
            model.close()


class TeacherSpeaker:
    """A teacher as a predictor, with its cache, budget and transcript.

    Args:
        purpose: of the calls, for the transcript: the speaker's name.
    """

    def __init__(self, teacher: TeacherInterface, purpose: str) -> None:
        self.teacher = teacher
        self.purpose = purpose
        self._pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix=f"ask-{purpose}")

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """One reply or failure for each conversation, in their order."""
        try:
            return self.teacher.ask(conversations, sampling, purpose=self.purpose)
        except BudgetSpentError as error:
            raise BudgetSpentError(f"the speaker {self.purpose!r}: {error}") from error

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """A future of the reply or failure to one conversation."""
        return self._pool.submit(lambda: self.predict([conversation], sampling)[0])

    def describe(self) -> Any:
        """The description of the teacher."""
        return _described(self.teacher)

    def close(self) -> None:
        """Disconnect."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        close_speakers({self.purpose: self.teacher})


def _described(model: Any) -> Any:
    return model.describe() if isinstance(model, Describes) else {"name": type(model).__name__}


def _as_predictor(name: Any, model: Any) -> PredictorInterface:
    if not isinstance(name, str) or not name.isidentifier() or name in _TAKEN:
        taken = ", ".join(map(repr, _TAKEN))
        raise ConfigurationError(
            f"others has a speaker {name!r}, expected a name such as 'user' or 'judge', other than "
            f"{taken}"
        )
    if isinstance(model, PredictorInterface):
        return model
    if isinstance(model, TeacherInterface):
        return TeacherSpeaker(model, name)
    raise ConfigurationError(
        f"the speaker {name!r} is a {type(model).__name__}, expected a predictor (with `predict`) "
        "or a teacher (with `ask`)"
    )
