"""A model that speaks in a rollout, the student or another one; its failures carry its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError, did_you_mean
from dataenvgym.events import ContextThreadPool
from dataenvgym.interfaces import (
    Failure,
    PredictorInterface,
    Reply,
    SamplingParameters,
    TeacherInterface,
    can,
    expect,
    predict_with_schema,
)
from dataenvgym.records import Conversation
from dataenvgym.records.instances import FAULTS
from dataenvgym.storage import hash_files
from dataenvgym.tasks.rollouts.instance_rollout import (
    OF_ALL,
    STUDENT,
    TO_THE_CALLER,
    Asking,
    describe,
    is_outage,
)

_MOST_IN_VAIN = 3


class Speaker:
    """Asks a predictor; an exception for one conversation becomes a `Failure` under its name."""

    def __init__(self, name: str, predictor: PredictorInterface) -> None:
        expect(predictor, PredictorInterface, name)
        self.name = name
        self._predictor = predictor
        self._submit = predictor.submit if can(predictor, "submit") else None

    def submit(self, asking: Asking[Any]) -> Future[Reply | Failure] | Failure | None:
        """Ask for one reply without waiting for it; None if the predictor has only `predict`."""
        if self._submit is None:
            return None
        try:
            future: Future[Reply | Failure] = self._submit(
                asking.ask.conversation, asking.ask.sampling
            )
            return future
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            return self._failure(error, asking)

    def result(self, future: Future[Reply | Failure], asking: Asking[Any]) -> Reply | Failure:
        """The result of `submit`."""
        try:
            reply = future.result()
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            return self._failure(error, asking)
        return self._checked(reply, "submit")

    def predict(self, chunk: Sequence[Asking[Any]]) -> Sequence[Reply | Failure]:
        """One reply or failure for each rollout of a chunk; their asks have the same sampling.

        An exception does not fail all of them (see `_one_by_one`).
        """
        try:
            found: Any = self._replies(chunk)
            replies = [*found] if isinstance(found, Iterable) else []
        except TO_THE_CALLER:
            raise
        except Exception as error:  # noqa: BLE001  attributed to the speaker
            reason = describe(self.name, error, chunk[0].name, among=len(chunk))
            failure = Failure(reason=reason, outage=is_outage(error))
            if len(chunk) == 1 or isinstance(error, OF_ALL):
                return [failure] * len(chunk)
            return self._one_by_one(chunk, failure)
        if len(replies) != len(chunk):
            raise PredictionError(
                f"{self._title}.predict returned {len(replies)} replies ({found!r:.80}) to "
                f"{len(chunk)} conversations, expected one Reply or Failure for each"
            )
        return [self._checked(reply, "predict") for reply in replies]

    def _replies(self, chunk: Sequence[Asking[Any]]) -> Sequence[Reply | Failure]:
        asked = [asking.ask.conversation for asking in chunk]
        return predict_with_schema(self._predictor, asked, chunk[0].ask.sampling)

    def _one_by_one(
        self, chunk: Sequence[Asking[Any]], failure: Failure
    ) -> Sequence[Reply | Failure]:
        """One reply or failure for each rollout of a chunk for which `predict` raised: `failure`.

        If the first `_MOST_IN_VAIN` fail as well, the others are not asked: the predictor fails for
        any conversation.
        """
        replies: list[Reply | Failure] = []
        for asking in chunk:
            in_vain = len(replies) >= _MOST_IN_VAIN and all(isinstance(r, Failure) for r in replies)
            replies += [failure] if in_vain else self.predict([asking])
        return replies

    def _checked(self, reply: Any, method: str) -> Reply | Failure:
        """Check that the result of the predictor's `method` is a reply or a failure."""
        if not isinstance(reply, Reply | Failure):
            raise PredictionError(
                f"{self._title}.{method} returned {reply!r}, expected a Reply or a Failure"
            )
        if isinstance(reply, Failure) and self.name != STUDENT:
            return Failure(reason=f"{self.name}: {reply.reason}", outage=reply.outage)
        return reply

    def _failure(self, error: Exception, asking: Asking[Any]) -> Failure:
        reason = describe(self.name, error, asking.name)
        return Failure(reason=reason, outage=is_outage(error))

    @property
    def _title(self) -> str:
        name = getattr(self._predictor, "title", type(self._predictor).__name__)
        return name if self.name == STUDENT else f"{self.name}: {name}"


class AdaptedStudents(Speaker):
    """The student with an adapter for each rollout; None is the untouched student."""

    def __init__(
        self,
        predictor: PredictorInterface,
        rollouts: Sequence[Asking[Any]],
        adapters: Sequence[Path | None],
    ) -> None:
        super().__init__(STUDENT, predictor)
        if not can(predictor, "train_each", "predict_each"):
            raise ConfigurationError(
                f"{self._title} answers with one adapter at a time (it has no `predict_each`), "
                "and each problem was given one: leave `adapters` out, and load them in turn"
            )
        self._many = predictor
        self._submit = None
        self._adapters = dict(zip(rollouts, adapters, strict=True))

    def _replies(self, chunk: Sequence[Asking[Any]]) -> Sequence[Reply | Failure]:
        asked = [asking.ask.conversation for asking in chunk]
        adapters = [self._adapters[asking] for asking in chunk]
        return self._many.predict_each(adapters, asked, chunk[0].ask.sampling)


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
    return {name: _as_predictor(name, model) for name, model in (others or {}).items()}


def describe_speakers(others: Mapping[str, Any]) -> dict[str, Any]:
    """Their descriptions for the run directory: the result of `describe()`, or the class."""
    return {name: _described(model) for name, model in sorted(others.items())}


def close_speakers(others: Mapping[str, Any]) -> None:
    """Close those that can be closed."""
    for model in others.values():
        if can(model, "close"):
            model.close()


class TeacherSpeaker:
    """A teacher as a predictor, with its cache, budget and transcript.

    Args:
        purpose: of the calls, for the transcript: the speaker's name.
    """

    def __init__(self, teacher: TeacherInterface, purpose: str) -> None:
        self.teacher = teacher
        self.purpose = purpose
        self._pool = ContextThreadPool(_MOST_THREADS, thread_name_prefix=f"ask-{purpose}")

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        try:
            return self.teacher.ask(conversations, sampling, purpose=self.purpose)
        except BudgetSpentError as error:
            raise BudgetSpentError(f"the speaker {self.purpose!r}: {error}") from error

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        return self._pool.submit(lambda: self.predict([conversation], sampling)[0])

    def describe(self) -> Any:
        return _described(self.teacher)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        close_speakers({self.purpose: self.teacher})


def _described(model: Any) -> Any:
    return model.describe() if can(model, "describe") else {"name": type(model).__name__}


def _as_predictor(name: Any, model: Any) -> PredictorInterface:
    is_name = isinstance(name, str) and name.replace("-", "_").isidentifier()
    if not is_name or name in _TAKEN:
        taken = ", ".join(map(repr, _TAKEN))
        raise ConfigurationError(
            f"others has a speaker {name!r}, expected a name such as 'user' or 'judge', other than "
            f"{taken}"
        )
    if isinstance(model, TeacherInterface) and not isinstance(model, PredictorInterface):
        return TeacherSpeaker(model, name)
    return expect(model, PredictorInterface, f"the speaker {name!r}")


CURRENT, FORMER, UNTOUCHED = "current", "former", "untouched"
_NAMES = (CURRENT, FORMER, UNTOUCHED)


class StudentSpeaker:
    """Represents the student among the other speakers, e.g. as its partner; `rollout` replaces it.

        SocialTask(partner="model", others={"partner": StudentSpeaker("former"), "judge": ...})

    Args:
        adapter: the adapter with which the student answers here: "current", the present one;
            "former", the one before its last training; "untouched", none; or a folder with an
            adapter. All but "current" need a student that `AblePredictor`.

    Raises:
        ConfigurationError: if the folder does not exist.
    """

    def __init__(self, adapter: str | Path = CURRENT) -> None:
        self.adapter = str(adapter)
        self.folder: Path | None = None
        if self.adapter not in _NAMES:
            self.folder = Path(adapter).expanduser().absolute()
            if not self.folder.is_dir():
                raise ConfigurationError(
                    f"adapter is {self.adapter!r}, and there is no such folder."
                    f"{did_you_mean(self.adapter, _NAMES)} Expected {', '.join(_NAMES)}, or a "
                    "folder with an adapter"
                )

    def of(self, student: PredictorInterface) -> PredictorInterface:
        """The predictor that answers.

        Raises:
            ConfigurationError: if the student cannot answer with another adapter, or its adapter
                before the last training is unknown.
            AdapterError: if the folder contains no checkpoint.
        """
        if self.adapter == CURRENT:
            return student
        if not can(student, "with_adapter"):
            raise ConfigurationError(
                f"adapter is {self.adapter!r}, and {type(student).__name__} cannot answer with "
                "another adapter beside its own (it has no `with_adapter`): choose 'current', or "
                "give the speaker a predictor of its own"
            )
        folder = student.former_adapter() if self.adapter == FORMER else self.folder
        return student.with_adapter(folder)

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> NoReturn:
        """Raise ConfigurationError: outside `rollout`, the student is unknown."""
        raise ConfigurationError(
            "a StudentSpeaker was asked by an environment that is stepped by itself, which knows "
            "no student: use rollout() or task.attempt(), or give the speaker a predictor"
        )

    def describe(self) -> dict[str, Any]:
        """The name of the adapter; of a folder, a hash of its content."""
        adapter = self.adapter if self.folder is None else hash_files(self.folder)[:16]
        return {"name": type(self).__name__, "adapter": adapter}


def student_speakers(others: Mapping[str, Any]) -> dict[str, StudentSpeaker]:
    """The speakers that are the student, by name."""
    return {n: speaker for n, speaker in others.items() if isinstance(speaker, StudentSpeaker)}


@contextmanager
def with_student(
    others: Mapping[str, PredictorInterface], student: PredictorInterface
) -> Iterator[dict[str, PredictorInterface]]:
    """The speakers with each `StudentSpeaker` replaced by a predictor; closed after the block."""
    answering = dict(others)
    beside: list[PredictorInterface] = []
    try:
        for name, speaker in student_speakers(others).items():
            answering[name] = speaker.of(student)
            if answering[name] is not student:
                beside.append(answering[name])
        yield answering
    finally:
        for predictor in beside:
            if can(predictor, "close"):
                predictor.close()
