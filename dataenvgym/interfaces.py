"""The four public protocols, and the small types that they exchange.

    agent --training data--> environment --training data--> predictor (trains)
      ^                          |
      |                          v
      +--completed instances-- task (rolls the predictor out, scores, reports)

To implement one takes about 20 lines and no base class: any object with the methods fits.
Implementations elsewhere in the package are examples, not base classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from operator import not_
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    SupportsFloat,
    TypeGuard,
    TypeVar,
    cast,
    runtime_checkable,
)

from pydantic import Field, JsonValue

from dataenvgym.errors import ConfigurationError, DataEnvGymError, DivergedError
from dataenvgym.options import Given, PlainText
from dataenvgym.records import (
    CompletedTaskInstance,
    Conversation,
    Model,
    PerformanceReport,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.model import Frozen, Text
from dataenvgym.records.usage import Usage

ProtocolT = TypeVar("ProtocolT")


class SamplingParameters(Model):
    """How to draw a reply.

    Attributes:
        temperature: 0.0 is greedy decoding.
        top_p: nucleus mass in (0, 1]; 1.0 keeps the whole distribution.
        max_tokens: the longest reply, in tokens.
        seed: the same seed gives the same replies to the same conversations; ignored when greedy.
        json_schema: the JSON schema that the reply must follow, or None for free text. Servers
            enforce it token by token; a predictor that cannot enforce it refuses it.
        stop: texts that end a reply; it is cut before the first of them. Special tokens are not
            text, so they are never found. OpenAI accepts at most four.
    """

    temperature: float = Field(default=0.0, ge=0.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    max_tokens: int = Field(default=64, ge=1)
    seed: int = Field(default=0, ge=0)
    json_schema: Given[Frozen[dict[str, JsonValue] | None]] = None
    stop: tuple[Annotated[PlainText[Text], Field(min_length=1)], ...] = Field(
        default=(), exclude_if=not_
    )

    def until_stop(self, text: str) -> str:
        """The text up to where the first of `stop` begins."""
        if not self.stop:
            return text
        found = [place for one in self.stop if (place := text.find(one)) >= 0]
        return text[: min(found)] if found else text


class Reply(Model):
    """The answer to one conversation. `length`: it was cut off at `max_tokens`.

    What is not known is None. Tool calls are part of the text (see `tool_formats.read_reply`).

    Attributes:
        prompt_tokens, completion_tokens: as the server counts them.
        seconds: how long the call took; not saved, so a reply from a cache has none.
        cost: in US dollars at the teacher's price. A reply from its cache has the same cost as at
            first, so that a reward that depends on it can be repeated.
    """

    text: str
    finish_reason: Literal["stop", "length"] = "stop"
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, exclude=True)
    cost: float | None = Field(default=None, exclude=True)

    @property
    def usage(self) -> Usage:
        """Tokens, seconds and cost of the reply."""
        return Usage.model_construct(**{name: getattr(self, name) for name in Usage.model_fields})

    def __eq__(self, other: object) -> bool:
        """Replies that say the same are equal, however long they took."""
        return isinstance(other, Reply) and self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash(self.text)


class Failure(Model):
    """A failed call: there is no answer to judge.

    Attributes:
        reason: why it failed.
        outage: whether the model was out of reach (a lost connection, a time limit, a spent
            budget); the call then says nothing about the model itself.
        diverged: of a training: whether its own options are the reason (`DivergedError`).
    """

    reason: str = Field(min_length=1)
    outage: bool = Field(default=False, exclude_if=not_)
    diverged: bool = Field(default=False, exclude_if=not_)

    @classmethod
    def of_training(cls, error: DataEnvGymError) -> Failure:
        """The failure of a training that ended with that error."""
        reason = f"{type(error).__name__}: {error}"
        return cls(reason=reason, diverged=isinstance(error, DivergedError))


@dataclass(frozen=True, slots=True)
class Ask:
    """A question of a task environment to another model than the student, or of a rollout to it.

    Attributes:
        who: the speaker's name, such as "user" or "judge".
        conversation: to be answered, from the speaker's point of view: its own messages are
            "assistant" there.
        sampling: how to draw its reply. Unless that is greedy, a task environment replaces the
            seed by one derived from its own, the turn, and the number of asks before in that turn.
        may_fail: if the speaker fails, the asking generator receives the `Failure` instead of a
            `Reply`; otherwise the instance ends with an error.
    """

    who: str
    conversation: Conversation
    sampling: SamplingParameters = field(default_factory=SamplingParameters)
    may_fail: bool = False


PhaseFactory = Callable[[str], AbstractContextManager[Any]]
"""Opens a named phase; leaving the context ends it."""


@dataclass(frozen=True)
class TrainingRun:
    """One training: its folder, its seed, and the weights from which it starts.

    Attributes:
        directory: an existing folder for `dataset/`, `training.yaml`, `adapter/` and logs.
        seed: every random choice of the training derives from it.
        start: "base" trains a new adapter on the untouched student; "adapter" continues the
            adapter that is loaded now ("base" if there is none).
        phase: context manager factory that the predictor may enter as `phase("dataset")`,
            `phase("train")` and `phase("load")`, to show progress and timings.
    """

    directory: Path
    seed: int = 0
    start: Literal["base", "adapter"] = "base"
    phase: PhaseFactory = field(default=lambda name: nullcontext(), repr=False, compare=False)


@runtime_checkable
class PredictorInterface(Protocol):
    """Something that answers conversations."""

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> Sequence[Reply | Failure]:
        """One reply or failure for each conversation, in their order.

        Synchronous and batched; a remote predictor hides its own event loop. A predictor may also
        have any method of `AblePredictor`.
        """
        ...


@runtime_checkable
class TrainablePredictorInterface(PredictorInterface, Protocol):
    """A student: it answers, and it learns."""

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        """Learn from the data; afterwards `predict` answers with the trained weights.

        If it raises, `predict` answers as before the call.
        """
        ...

    def save(self, path: Path) -> None:
        """Save the changes to the base model (for LoRA: the adapter in PEFT format) in `path`."""
        ...

    def load(self, path: Path) -> None:
        """Answer with the weights that `save` (or a trainer) wrote to `path`; for resumed runs."""
        ...

    def reset(self) -> None:
        """Return to the untouched base student."""
        ...


@runtime_checkable
class TrainerInterface(Protocol):
    """Trains an adapter from a LLaMA-Factory file.

    It may also have `config`, a `TrainingConfig`: the options of every training (see
    `trainers.options_of`).
    """

    def train(self, config_path: Path) -> Path:
        """Train from the YAML file; return the complete adapter's folder, in PEFT format.

        Raises:
            UnsupportedStageError: for a stage or option that this trainer does not support.
            TrainingError: if there is no usable adapter at the end.
        """
        ...


@dataclass(frozen=True)
class AdapterJob:
    """An adapter to train on the untouched student (see `AblePredictor.train_each`).

    Attributes:
        records: what it learns.
        run: its folder and seed.
        trainer: trains it with its own options; None for the student's trainer.
    """

    records: Sequence[TrainingDatum]
    run: TrainingRun
    trainer: TrainerInterface | None = None


class AblePredictor(TrainablePredictorInterface, Protocol):
    """All that a predictor may offer beyond `predict`; each group of methods is optional.

    `can(predictor, "submit")` says whether it does. Wrappers pass on those in `METHODS`.
    """

    def submit(
        self, conversation: Conversation, sampling: SamplingParameters
    ) -> Future[Reply | Failure]:
        """Answer as soon as possible: a future. Rollouts call it from several threads."""
        ...

    def connect(self) -> object:
        """Wait until the server is ready; raise if it cannot work. Rollouts call it first."""
        ...

    def describe(self) -> Any:
        """The settings that determine its answers, as JSON; a resumed run refuses other ones.

        Teachers and labelers may have it, too.
        """
        ...

    def refusals(self, conversations: Sequence[Conversation]) -> Sequence[Failure | None]:
        """The failure of each conversation that could not be answered; None for the others."""
        ...

    def close(self) -> None:
        """Release the resources. Task environments may have it, too."""
        ...

    # --- self-play with earlier versions: both adapters share one copy of the base model

    def with_adapter(self, folder: Path | None) -> PredictorInterface:
        """A predictor that answers with the adapter in `folder`; None for the untouched student.

        The student itself is unchanged. `rollout` closes the predictor if it has `close`.
        """
        ...

    def former_adapter(self) -> Path | None:
        """The folder with the adapter from before the last training; None if there was none.

        Raises ConfigurationError if it is unknown.
        """
        ...

    def remember_former(self, folder: Path | None) -> None:
        """Set the adapter from before the last training, after `load` changed the present one."""
        ...

    # --- what it would learn from records; these are supervised or chats

    def losses(
        self,
        records: Sequence[TrainingDatum],
        *,
        learned: Sequence[TrainingDatum] = (),
        seed: int = 0,
    ) -> list[float]:
        """For each record, the mean cross-entropy (in nats) of the tokens that it teaches.

        Args:
            learned: if there are any, the losses are those of the untouched student after a
                training on these.
            seed: of that training.
        """
        ...

    def influences(
        self,
        records: Sequence[TrainingDatum],
        targets: Sequence[Sequence[TrainingDatum]],
        *,
        warmup: Sequence[TrainingDatum],
        epochs: int,
        seed: int = 0,
    ) -> list[float]:
        """For each record, how much a step on it would lower the loss on `targets` (LESS).

        Args:
            targets: groups of records; the influence is the largest one on a group.
            warmup: a copy of the student is trained on these.
            epochs: of that training; gradients are compared at the end of each.
            seed: of that training.
        """
        ...

    # --- many adapters of its base at once; it is itself unchanged

    def train_each(self, jobs: Sequence[AdapterJob]) -> list[Path | Failure]:
        """Train an adapter for each job; return their folders, or why a job failed.

        Each adapter starts from the untouched student, whatever `run.start` says, and equals the
        one that is trained alone, up to rounding. A job that fails leaves the others.
        """
        ...

    def predict_each(
        self,
        adapters: Sequence[Path | None],
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
    ) -> list[Reply | Failure]:
        """Answer conversation i with adapter i; None is the untouched student.

        Raises AdapterError for a folder without a fitting adapter; nothing is answered then.
        """
        ...

    # --- the student as a teaching environment shows it to an agent (`ShownStudent`)

    def trial(self, records: Any, /) -> PerformanceReport:
        """The report of the student if it were trained on these records; it stays unchanged.

        See `TeachingEnvironment.trial`. Each trial costs a training and an evaluation.
        """
        ...


def can(thing: object, *methods: str) -> TypeGuard[AblePredictor]:
    """Whether it has these methods of `AblePredictor`."""
    return all(getattr(thing, method, None) is not None for method in methods)


METHODS = (
    *("submit", "connect", "describe", "save", "close", "refusals", "with_adapter"),
    *("former_adapter", "remember_former", "losses", "influences", "trial"),
)
"""The optional methods that a wrapper of a predictor passes on; training is not among them."""


@runtime_checkable
class DataGenerationAgentInterface(Protocol):
    """An agent that teaches: it looks at wrong answers and writes training records.

    It may also have `state_dict() -> dict` (JSON; no NaN) and `load_state_dict(dict)`: the state is
    then saved with each iteration, and a resumed run continues from it. A resumed agent without
    these methods starts with an empty memory, and the run warns of it.

    What it is shown is frozen, and a problem that is changed in spite of that ends the run with an
    error. It may ask `predictor`, but not change it: its `train`, `load` and `reset` raise
    AgentError.
    In a teaching environment it may also try records without keeping them
    (`predictor.trial(records)`, see `environments.shown_student`).
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
    """An agent whose actions are not only records, as in `SkillTree-v0`.

    It may be `Stateful` like any agent.
    """

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> Any:
        """The environment's next action, given its observation."""
        ...

    def step(self) -> None:
        """Called after each iteration."""
        ...


TeachingAgent = DataGenerationAgentInterface | ActingAgentInterface


@runtime_checkable
class Stateful(Protocol):
    """Methods of a resumable agent beyond `DataGenerationAgentInterface`."""

    def state_dict(self) -> dict[str, JsonValue]:
        """The agent's whole memory, with the state of its random generator, as JSON."""
        ...

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        """Replace the memory by the result of `state_dict`."""
        ...


@runtime_checkable
class TaskInterface(Protocol):
    """A set of problems for a predictor."""

    def evaluate(self, predictor: PredictorInterface) -> Sequence[CompletedTaskInstance]:
        """Let the predictor try every problem, in a fixed order."""
        ...

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """Summarize the completed instances."""
        ...


@runtime_checkable
class EnvironmentInterface(Protocol):
    """Exactly gymnasium's `reset` and `step`."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; returns the first observation and an info."""
        ...

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action; returns observation, reward, terminated, truncated and an info."""
        ...


def expect(value: object, protocol: Callable[..., ProtocolT], name: str) -> ProtocolT:
    """Return the value if it has the names of the protocol; refuse others, and classes.

    Args:
        name: of the argument, or the key of the option.

    Raises:
        ConfigurationError: with the methods that are missing.
    """
    known = sorted({*dir(protocol), *getattr(protocol, "__annotations__", {})})
    wanted = [each for each in known if each == "__call__" or not each.startswith("_")]
    missing = [each for each in wanted if not hasattr(value, each)]
    if missing or isinstance(value, type):
        lacks = f"; it has no {', '.join(missing)}" if missing else ""
        raise ConfigurationError(
            f"{name} is {value!r:.80}, expected an object with {', '.join(wanted)}{lacks}"
        )
    return cast(ProtocolT, value)


@runtime_checkable
class TeacherInterface(Protocol):
    """An LLM that engines, policies, skill discovery and quality checks ask.

    Few users implement it: `dataenvgym.teachers.Teacher` asks any OpenAI-compatible server, and
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
    """Assigns a skill to an instance, instead of gold skills (see `dataenvgym.agents.skills`)."""

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


class ForwardingPredictor:
    """Answers with `predictor`, and has each of `METHODS` that `predictor` has.

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
