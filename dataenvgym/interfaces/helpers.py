"""Helpers of agents and teaching environments: teachers, labelers, quality checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from dataenvgym.interfaces.predictors import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Conversation, TaskInstance, TrainingDatum


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
            sampling: with `json_schema`, replies follow it where the server can hold them to it;
                the caller parses, and does not trust.
            purpose: of the calls, for the transcript, such as "records" or "skills".

        Raises:
            BudgetSpentError: if nothing at all could be asked. Conversations that the budget did
                not reach are failures.
        """
        ...


class SkillLabel(NamedTuple):
    """The skill that an instance needs, and the category of that skill; None if unknown."""

    skill: str | None
    category: str | None = None


@runtime_checkable
class SkillLabelerInterface(Protocol):
    """Says which skill an instance needs, in place of gold skills (see `dataenvgym.skills`)."""

    def label(self, instances: Sequence[TaskInstance]) -> Sequence[SkillLabel]:
        """One label for each instance, in their order; the same instance, the same label."""
        ...


@runtime_checkable
class RecordCheckInterface(Protocol):
    """A quality check that acts: records that it does not pass are not trained on.

    Attributes:
        reason: under which the records that fail are counted, such as "wrong_answer".
    """

    reason: str

    def passes(
        self, records: Sequence[TrainingDatum], predictor: PredictorInterface
    ) -> Sequence[bool | Failure]:
        """Whether each record may be trained on.

        A record that the check could not judge, because a question failed, gets a `Failure` in
        place of a verdict: it passes, is counted, and the user is warned. A check may also raise:
        `PredictionError` ends the run, which checks these records again when it is resumed; any
        other `DataEnvGymError` says that it could judge none of them.

        `predictor` is the student as it is before the training.
        """
        ...
