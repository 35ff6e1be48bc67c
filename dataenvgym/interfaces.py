"""The four public protocols, and the few small types that pass through them.

    agent --training data--> environment --training data--> predictor (trains)
      ^                          |
      |                          v
      +--completed instances-- task (rolls the predictor out, scores, reports)

An outsider implements one of them in about 20 lines, with no base class: whatever has the
methods fits. Implementations elsewhere in the package are examples, not ancestors.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, SupportsFloat, runtime_checkable

from pydantic import Field, JsonValue

from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Model,
    PerformanceReport,
    TaskInstance,
    TrainingDatum,
)


class SamplingParameters(Model):
    """How to draw a reply.

    Attributes:
        temperature: 0.0 is greedy decoding.
        top_p: nucleus mass in (0, 1]; 1.0 keeps the whole distribution.
        max_tokens: the longest reply, in tokens.
        seed: draws the same replies again for the same conversations; ignored when greedy.
        json_schema: the JSON schema that the reply must follow, or None for free text. Servers
            hold the student to it token by token; a predictor that cannot refuses it.
    """

    temperature: float = Field(default=0.0, ge=0.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    max_tokens: int = Field(default=64, ge=1)
    seed: int = Field(default=0, ge=0)
    json_schema: dict[str, JsonValue] | None = None


class Reply(Model):
    """The answer to one conversation. `length`: it was cut off at `max_tokens`.

    Attributes:
        prompt_tokens, completion_tokens: as the server counts them; None where it does not say.
    """

    text: str
    finish_reason: Literal["stop", "length"] = "stop"
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class Failure(Model):
    """A call that failed, so that there is no answer to judge. `reason` says why."""

    reason: str = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question of a task environment to another model than the student, or of a rollout to it.

    Attributes:
        who: the speaker's name, such as "user" or "judge".
        conversation: what it is to answer, from its own point of view: what it says is
            "assistant" there.
        sampling: how to draw its reply. Unless that is greedy, a task environment replaces the seed
            by one that derives from its own, the turn, and the number of asks before in that turn.
    """

    who: str
    conversation: Conversation
    sampling: SamplingParameters = field(default_factory=SamplingParameters)


@dataclass(frozen=True)
class TrainingRun:
    """One training: where its files go, with which seed, and from where it starts.

    Attributes:
        directory: an existing folder for `dataset/`, `training.yaml`, `adapter/` and logs.
        seed: every random choice of the training derives from it.
        start: "base" trains a new adapter on the untouched student; "adapter" goes on from the
            adapter that is loaded now ("base" if there is none).
        phase: context manager factory that the predictor may enter as `phase("dataset")`,
            `phase("train")` and `phase("load")`, so that progress and timings are seen.
    """

    directory: Path
    seed: int = 0
    start: Literal["base", "adapter"] = "base"
    phase: PhaseFactory = field(default=lambda name: nullcontext(), repr=False, compare=False)


class PhaseFactory(Protocol):
    """Opens a named phase; leaving the context ends it."""

    def __call__(self, name: str, /) -> AbstractContextManager[Any]: ...


@runtime_checkable
class PredictorInterface(Protocol):
    """Something that answers conversations."""

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Synchronous and batched; a remote predictor hides its own event loop. A predictor may
        also offer `submit(conversation, sampling) -> concurrent.futures.Future[Reply | Failure]`,
        and rollouts then go on with each conversation as soon as its reply is there; they call
        it from several threads. If it has `connect()`, rollouts call that first: a predictor
        whose server has to start waits for it there, and raises there if it cannot work.
        """
        ...


@runtime_checkable
class TrainablePredictorInterface(PredictorInterface, Protocol):
    """A student: it answers, and it learns."""

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Learn from the data; afterwards `predict` answers with what was learned.

        If it raises, `predict` answers as before the call.
        """
        ...

    def save(self, path: Path) -> None:
        """Write what it learned since the base (for LoRA: the adapter in PEFT format) to `path`."""
        ...

    def load(self, path: Path) -> None:
        """Answer with what `save` (or a trainer) wrote to `path`; a resumed run needs it."""
        ...

    def reset(self) -> None:
        """Be the untouched base student again."""
        ...


@runtime_checkable
class TriesRecords(Protocol):
    """Tries records on a student without keeping them."""

    def trial(self, records: Any, /) -> PerformanceReport:
        """How it would do if it were trained on these records; it is as before afterwards.

        See `TeachingEnvironment.trial`. Each trial costs a training and an evaluation.
        """
        ...


@runtime_checkable
class ShownStudentInterface(PredictorInterface, TriesRecords, Protocol):
    """The student as a teaching environment shows it to an agent."""


@runtime_checkable
class TaskInterface(Protocol):
    """A set of problems that can be put to a predictor."""

    def evaluate(self, predictor: PredictorInterface) -> Sequence[CompletedTaskInstance]:
        """Put every problem to the predictor, in a fixed order."""
        ...

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """Sum the completed instances up."""
        ...


@runtime_checkable
class DataGenerationAgentInterface(Protocol):
    """Someone who teaches: looks at what went wrong and writes training records.

    It may also have `state_dict() -> dict` (JSON; no NaN) and `load_state_dict(dict)`: the state is
    then saved with each iteration, and a resumed run goes on where it was. An agent without them
    starts its memory anew, and the run warns of it.

    It may ask `predictor`, and not change it: its `train`, `load` and `reset` raise AgentError.
    In a teaching environment it may also try records without keeping them
    (`predictor.trial(records)`, see `ShownStudentInterface`).
    """

    def __call__(
        self,
        completed: Sequence[CompletedTaskInstance],
        predictor: PredictorInterface,
    ) -> Sequence[TrainingDatum]:
        """Training records for the next iteration, given the evaluated validation instances."""
        ...

    def step(self) -> None:
        """Called after each iteration, once its records are trained on and evaluated."""
        ...


@runtime_checkable
class ActingAgentInterface(Protocol):
    """Someone who teaches by other actions than records, as `SkillTree-v0` has them.

    It may be `Stateful` as any agent.
    """

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> Any:
        """The environment's next action, given its observation."""
        ...

    def step(self) -> None:
        """Called after each iteration."""
        ...


TeachingAgent = DataGenerationAgentInterface | ActingAgentInterface


@runtime_checkable
class TeacherInterface(Protocol):
    """An LLM that engines, policies, skill discovery and quality checks ask.

    It is no fifth protocol to be implemented by most users: `dataenvgym.llm.Teacher` stands before
    any OpenAI-compatible server, and before the student itself.
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
            purpose: what the calls are for, in the transcript, such as "records" or "skills".

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


@runtime_checkable
class EnvironmentInterface(Protocol):
    """Exactly gymnasium's `reset` and `step`."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]: ...

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]: ...


@runtime_checkable
class Stateful(Protocol):
    """What a resumable agent offers beyond `DataGenerationAgentInterface`."""

    def state_dict(self) -> dict[str, JsonValue]: ...

    def load_state_dict(self, state: dict[str, JsonValue]) -> None: ...
