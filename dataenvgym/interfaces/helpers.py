"""Helpers of agents and teaching environments: teachers, labelers, quality checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces.predictors import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Conversation, TaskInstance, TrainingDatum


def expect(value: object, protocol: type, name: str) -> None:
    """Refuse a value without the protocol's methods, and a class in place of an object.

    Args:
        name: of the argument.

    Raises:
        ConfigurationError: with the methods that are missing.
    """
    if isinstance(value, type):
        raise ConfigurationError(
            f"{name} is the class {value.__name__}, expected an object: {value.__name__}(...)"
        )
    methods = [method for method in dir(protocol) if not method.startswith("_")]
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        raise ConfigurationError(
            f"{name} is {value!r:.80}, expected an object with {', '.join(methods)} (see "
            f"{protocol.__name__}); it has no {', '.join(missing)}"
        )


@runtime_checkable
class TeacherInterface(Protocol):
    """An LLM that engines, policies, skill discovery and quality checks ask.

    Few users implement it: `dataenvgym.llm.Teacher` asks any OpenAI-compatible server, and
    `StudentTeacher` the student itself.
    """

    def ask(
        self,
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
        *,
        purpose: str,
    ) -> Sequence[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Args:
            sampling: with `json_schema`, servers that can enforce it do so; the caller must still
                check the replies.
            purpose: of the calls, for the transcript, such as "records" or "skills".

        Raises:
            BudgetSpentError: if the budget allows no question at all. Otherwise, conversations that
                it does not reach are failures.
        """
        ...


class SkillLabel(NamedTuple):
    """The skill that an instance needs, and the category of that skill; None if unknown."""

    skill: str | None
    category: str | None = None


@runtime_checkable
class SkillLabelerInterface(Protocol):
    """Assigns a skill to an instance, instead of gold skills (see `dataenvgym.skills`)."""

    def label(self, instances: Sequence[TaskInstance]) -> Sequence[SkillLabel]:
        """One label for each instance, in order; the same instance gets the same label."""
        ...


@runtime_checkable
class RecordCheckInterface(Protocol):
    """A quality check that decides: records that fail it are not trained on.

    Attributes:
        reason: the reason under which failing records are counted, such as "wrong_answer".
    """

    reason: str

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> Sequence[bool | Failure]:
        """Whether each record may be trained on.

        A record that the check could not judge, because a question failed, gets a `Failure` instead
        of a verdict: it passes and is counted, and the user is warned. A check may also raise:
        `PredictionError` ends the run, which checks these records again when it is resumed; any
        other `DataEnvGymError` means that it could judge none of them.

        `predictor` is the student before the training.
        """
        ...


def predict_with_schema(
    predictor: PredictorInterface,
    conversations: Sequence[Conversation],
    sampling: SamplingParameters,
) -> Sequence[Reply | Failure]:
    """Ask with the schema of `sampling`, or without it if the predictor refuses schemas.

    The caller checks the replies in either case.
    """
    try:
        return predictor.predict(conversations, sampling)
    except ConfigurationError:
        if sampling.json_schema is None:
            raise
        free = sampling.model_copy(update={"json_schema": None})
        return predictor.predict(conversations, free)  # another error is raised again
