"""The data that everything else speaks of, as frozen pydantic models.

`Message` is one turn of a conversation; a conversation is a tuple of messages.

What the student is asked: a `TaskInstance` is one problem; a `CompletedTaskInstance` is that
problem with the transcript, the reward and, where infrastructure failed, the error. A
`PerformanceReport` sums many of them up, overall and by skill.

What the student learns from: a `TrainingDatum` is one training record, of one of the five kinds
that LLaMA-Factory knows. Each kind is a model of its own, told apart by `kind`, and each carries
its `Provenance`.

Models are parsed once, at the boundary (`parse_training_datum`, `parse_training_data`), and
trusted afterwards. All of them survive `model_dump_json` -> `model_validate_json` unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from dataenvgym.errors import InvalidRecordError


class Model(BaseModel):
    """Frozen, and strict about names: an unknown field is an error, not a silent typo."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"no Unicode text: {error.reason} at position {error.start}") from None
    return text


def _plain_json(value: Any) -> Any:
    try:
        same = orjson.loads(orjson.dumps(value)) == value
    except (TypeError, ValueError) as error:
        raise ValueError(f"no JSON that every reader has: {error}") from None
    if not same:
        raise ValueError("no JSON that every reader has: NaN or infinity in it")
    return value


Text = Annotated[str, AfterValidator(_encodable)]
"""Any Unicode text; lone surrogates are none."""
Json = Annotated[JsonValue, AfterValidator(_plain_json)]
"""A JSON value whose numbers fit into 64 bits."""


# --- conversations ------------------------------------------------------------------------------


class ToolCall(Model):
    """A call that the assistant asks for: the tool's name and its arguments by name."""

    name: str = Field(min_length=1)
    arguments: dict[str, Json] = {}


class Message(Model):
    """One turn of a conversation, in the roles that chat templates know."""

    role: Literal["system", "user", "assistant", "tool"]
    content: Text
    tool_calls: tuple[ToolCall, ...] = ()


Conversation = tuple[Message, ...]


# --- task instances -----------------------------------------------------------------------------


class TaskInstance(Model):
    """One problem of a task.

    Attributes:
        id: unique within the task, stable across processes and machines.
        task: name of the task that it belongs to.
        instruction: the problem as the student reads it.
        answer: the gold answer, or None where the task has none. Never shown to the student.
        skill, category: gold labels, or None where the task has none.
        data: whatever else the task environment needs (tests, tools, personas), as JSON.
    """

    id: str = Field(min_length=1)
    task: str = Field(min_length=1)
    instruction: Text
    answer: str | None = None
    skill: str | None = None
    category: str | None = None
    data: dict[str, Json] = {}


class CompletedTaskInstance(Model):
    """One problem after the student has tried it.

    Attributes:
        instance: the problem.
        transcript: the whole conversation, the student's messages included.
        reward: the task's score of the finished instance; 0.0 where `error` is set.
        was_correct: whether the task counts it as solved; False where `error` is set.
        error: why the infrastructure failed, or None. An instance with an error is neither
            right nor wrong: reports exclude it from scores and count it apart.
        note: what else is worth knowing about the score, e.g. that checking the answer ran out
            of time, or None.
    """

    instance: TaskInstance
    transcript: Conversation
    reward: float = Field(allow_inf_nan=False)
    was_correct: bool
    error: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _failed_is_not_scored(self) -> CompletedTaskInstance:
        if self.error is not None and (self.was_correct or self.reward):
            raise ValueError("an instance with an error has reward 0.0 and was_correct False")
        return self

    @property
    def response(self) -> str | None:
        """The student's last message, or None if it never answered."""
        return next((m.content for m in reversed(self.transcript) if m.role == "assistant"), None)


class SkillReport(Model):
    """How the student does on the instances of one skill.

    `score` is the mean reward and `accuracy` the share of correct instances, both over the
    `n - n_errors` instances without an error; both are None where there is no such instance.
    """

    skill: str
    category: str | None
    score: float | None
    accuracy: float | None
    n: int
    n_errors: int


class PerformanceReport(Model):
    """How the student does on a set of instances; the fields mean what they do in `SkillReport`.

    `skills` is sorted by category and name; instances without a gold skill stand under "".
    """

    task: str
    score: float
    accuracy: float
    n: int
    n_errors: int
    skills: tuple[SkillReport, ...] = ()


# --- training records ---------------------------------------------------------------------------


class Provenance(Model):
    """Where a training record comes from.

    Attributes:
        id: unique within a run; empty until the environment stamps it.
        skill: the skill that it teaches, or None.
        subskill: the part of that skill, or None.
        agent: name of the agent that made it, or None.
        iteration: the 1-based iteration that it was made for, or None.
    """

    id: str = ""
    skill: str | None = None
    subskill: str | None = None
    agent: str | None = None
    iteration: int | None = None


class _Datum(Model):
    provenance: Provenance = Provenance()


class _PromptedDatum(_Datum):
    """A record that begins with a prompt: optional system message, earlier turns, instruction.

    `input` is put behind the instruction, on a line of its own (the alpaca convention).
    `history` holds earlier (user, assistant) turns, oldest first.
    """

    instruction: Text = Field(min_length=1)
    input: Text = ""
    system: Text = ""
    history: tuple[tuple[Text, Text], ...] = ()

    @property
    def prompt(self) -> Conversation:
        """The conversation up to and including the user message that is to be answered."""
        messages = [Message(role="system", content=self.system)] if self.system else []
        for question, reply in self.history:
            messages.append(Message(role="user", content=question))
            messages.append(Message(role="assistant", content=reply))
        text = f"{self.instruction}\n{self.input}" if self.input else self.instruction
        return (*messages, Message(role="user", content=text))


class SupervisedDatum(_PromptedDatum):
    """A prompt and the answer to learn (LLaMA-Factory: alpaca)."""

    kind: Literal["supervised"] = "supervised"
    output: Text = Field(min_length=1)


class ChatDatum(_Datum):
    """A whole conversation to learn, with tools where it has them (LLaMA-Factory: sharegpt).

    User or tool messages and assistant messages alternate, beginning with a user message and
    ending with the assistant's; a system message stands in `system`. `tools` are JSON schemas
    as chat templates take them.
    """

    kind: Literal["chat"] = "chat"
    messages: Conversation = Field(min_length=2)
    system: Text = ""
    tools: tuple[dict[str, Json], ...] = ()

    @model_validator(mode="after")
    def _alternates(self) -> ChatDatum:
        if self.messages[0].role != "user":
            raise ValueError(f"messages[0] has role {self.messages[0].role!r}, expected 'user'")
        if len(self.messages) % 2:
            raise ValueError(
                f"messages has {len(self.messages)} turns, expected an even number that ends "
                "with the assistant's"
            )
        for i, message in enumerate(self.messages):
            wanted = ("assistant",) if i % 2 else ("user", "tool")
            if message.role not in wanted:
                raise ValueError(
                    f"messages[{i}] has role {message.role!r}, expected {' or '.join(wanted)}"
                )
            if message.tool_calls and message.role != "assistant":
                raise ValueError(
                    f"messages[{i}] has tool calls and role {message.role!r}, expected 'assistant'"
                )
        return self


class PreferenceDatum(_PromptedDatum):
    """A prompt with a better and a worse answer (LLaMA-Factory: `ranking: true`)."""

    kind: Literal["preference"] = "preference"
    chosen: Text = Field(min_length=1)
    rejected: Text = Field(min_length=1)

    @model_validator(mode="after")
    def _differ(self) -> PreferenceDatum:
        if self.chosen == self.rejected:
            raise ValueError("chosen and rejected are the same text, expected two different ones")
        return self


class KTODatum(_PromptedDatum):
    """A prompt with an answer and whether it is desirable (LLaMA-Factory: `kto_tag`)."""

    kind: Literal["kto"] = "kto"
    output: Text = Field(min_length=1)
    desirable: bool


class TextDatum(_Datum):
    """Plain text to continue pre-training on (LLaMA-Factory: stage `pt`)."""

    kind: Literal["text"] = "text"
    text: Text = Field(min_length=1)


TrainingDatum = Annotated[
    SupervisedDatum | ChatDatum | PreferenceDatum | KTODatum | TextDatum,
    Field(discriminator="kind"),
]
DatumKind = Literal["supervised", "chat", "preference", "kto", "text"]

_DATUM: TypeAdapter[TrainingDatum] = TypeAdapter(TrainingDatum)


def parse_training_datum(value: Any, *, index: int | None = None) -> TrainingDatum:
    """One training record from a model or a mapping (`kind` defaults to "supervised").

    Raises:
        InvalidRecordError: naming the index, the field and what was found there.
    """
    if isinstance(value, Mapping):
        value = {"kind": "supervised", **value}
    try:
        return _DATUM.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # loc begins with the union's tag ("supervised", ...), which is no field of the record
        field = ".".join(str(part) for part in first["loc"][1:]) or None
        where = "record" if index is None else f"record {index}"
        found = repr(first["input"])
        shown = found if len(found) <= 200 else found[:200] + "..."
        raise InvalidRecordError(
            f"{where}, field {field or '(whole record)'}: {first['msg']}; found {shown}",
            index=index,
            field=field,
        ) from None


def parse_training_data(values: Iterable[Any]) -> tuple[TrainingDatum, ...]:
    """A batch of training records, refused whole if one of them is malformed.

    Raises:
        InvalidRecordError: for the first malformed record, with its index in the batch.
    """
    return tuple(parse_training_datum(value, index=i) for i, value in enumerate(values))
