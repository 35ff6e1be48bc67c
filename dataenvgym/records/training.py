"""Training records: the five kinds that LLaMA-Factory supports, and scored ones.

Each kind is a model of its own, identified by `kind`. What others need to know of any record, it
says by itself (see `Datum`), so that only writers (datasets, trainers) tell the kinds apart.
`parse_training_datum` checks a record where it comes in; behind that, its type is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import not_
from typing import Annotated, Any, Literal, Self, get_args
from zlib import crc32

from pydantic import (
    AfterValidator,
    BaseModel,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from dataenvgym.errors import InvalidRecordError, shorten
from dataenvgym.records.conversations import Conversation, Message, Tool, check_chat, check_turns
from dataenvgym.records.model import Finite, Model, Text


class Provenance(Model):
    """The origin of a training record.

    Attributes:
        id: unique within a run; empty until the environment stamps it.
        skill: the skill that it teaches, or None.
        subskill: the part of that skill, or None.
        agent: the name of the agent that wrote it, or None.
        iteration: the 1-based iteration that it was written for, or None.
        hypotheses: what its author thought that the student lacks, and why; not stored if empty.
        selected: why it was taken from a pool; not stored if empty.
        task: the name of the task that it is for; needed where a run has several.
    """

    id: Text = ""
    skill: Text | None = None
    subskill: Text | None = None
    agent: Text | None = None
    iteration: int | None = None
    hypotheses: tuple[Text, ...] = Field(default=(), exclude_if=not_)
    selected: Text = Field(default="", exclude_if=not_)
    task: Text | None = Field(default=None, exclude_if=not_)


@dataclass(frozen=True)
class LabeledAnswer:
    """An answer to a prompt, and whether the record says that it is right or wrong."""

    prompt: Conversation
    text: str
    is_right: bool = True

    @property
    def question(self) -> str:
        """The last message of the prompt."""
        return self.prompt[-1].content

    def holds(self, gives_right: bool | None) -> bool | None:
        """Whether the label is true, given that the answer is right, wrong or (None) unknown."""
        return None if gives_right is None else gives_right == self.is_right


def all_hold(verdicts: Sequence[bool | None]) -> bool | None:
    """Whether all labels hold: False if one does not; None if one is unknown or there are none."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


class Datum(Model):
    """A training record of any kind. A new kind defines `prompt`, `question` and `turns`."""

    provenance: Provenance = Provenance()

    @property
    def prompt(self) -> Conversation:
        """The conversation up to the last answer."""
        return ()

    @property
    def question(self) -> str:
        """The instruction, or the first message of a conversation; empty for plain text."""
        return ""

    def turns(self) -> list[tuple[str, Conversation]]:
        """Everything in the record, in order: messages, each with its speaker or its label.

        A label says what the record makes of an answer, as "assistant (desirable)" or "chosen".
        """
        raise NotImplementedError

    def parts(self) -> list[str]:
        """Every text of the record, then its tool calls as JSON."""
        messages = [message for _, turn in self.turns() for message in turn]
        calls = (m.model_dump_json() for m in messages if m.tool_calls)
        return [*(m.content for m in messages), *calls]

    def questions(self) -> list[str]:
        """The texts that may state a problem: all in the prompt except the assistant's."""
        return [m.content for m in self.prompt if m.role != "assistant"]

    def answers(self) -> tuple[LabeledAnswer, ...]:
        """The answers that the record labels right or wrong.

        A preference has two: the chosen answer is right, the rejected one is wrong. Of other
        records it is the last answer. Plain text, scored records, chats with tool calls, and
        preferences between turns of a conversation have none.
        """
        return ()

    def with_questions(self, change: Callable[[str], str]) -> Self:
        """The record with the user's texts changed: the instruction, or each user's message."""
        return self

    def marks(self) -> list[str]:
        """Other values that distinguish records with the same texts: labels, weights, tools.

        The tools of a conversation are one number: shared tools do not make records similar.
        """
        return []


def _spoken(messages: Conversation) -> list[tuple[str, Conversation]]:
    return [(message.name or message.role, (message,)) for message in messages]


class _PromptedDatum(Datum):
    """A record that begins with a prompt: optional system message, earlier turns, instruction.

    `input` is put after the instruction, on a line of its own (the alpaca convention).
    `history` holds earlier (user, assistant) turns, oldest first.
    """

    instruction: Text = Field(min_length=1)
    input: Text = ""
    system: Text = ""
    history: tuple[tuple[Text, Text], ...] = ()

    @property
    def prompt(self) -> Conversation:
        """The conversation up to and including the user message to answer."""
        messages = [Message(role="system", content=self.system)] if self.system else []
        for question, reply in self.history:
            messages.append(Message(role="user", content=question))
            messages.append(Message(role="assistant", content=reply))
        text = f"{self.instruction}\n{self.input}" if self.input else self.instruction
        return (*messages, Message(role="user", content=text))

    @property
    def question(self) -> str:
        return self.prompt[-1].content

    def with_questions(self, change: Callable[[str], str]) -> Self:
        return self.model_copy(update={"instruction": change(self.instruction)})


class SupervisedDatum(_PromptedDatum):
    """A prompt and the answer to learn (LLaMA-Factory: alpaca)."""

    kind: Literal["supervised"] = "supervised"
    output: Text = Field(min_length=1)

    @property
    def conversation(self) -> Conversation:
        """The prompt and the answer."""
        return (*self.prompt, *_messages_of(self.output))

    def turns(self) -> list[tuple[str, Conversation]]:
        return _spoken(self.conversation)

    def answers(self) -> tuple[LabeledAnswer, ...]:
        return (LabeledAnswer(self.prompt, self.output),)


class _ConversationDatum(Datum):
    """A conversation that begins with a user and ends with the assistant.

    Messages of others and of the assistant alternate. Several messages before a reply are one turn
    if tool results or named users are among them. The system message is in `system`, the tools are
    in `tools`.
    """

    kind: str
    messages: Conversation = Field(min_length=2)
    system: Text = ""
    tools: tuple[Tool, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation in the student's form: with the system message, and tools declared."""
        return _opened(self.system, self.messages, self.tools)

    @property
    def prompt(self) -> Conversation:
        return self.conversation[:-1]

    @property
    def question(self) -> str:
        return self.messages[0].content

    def turns(self) -> list[tuple[str, Conversation]]:
        return _spoken(self.conversation)

    def with_questions(self, change: Callable[[str], str]) -> Self:
        return self.model_copy(update={"messages": _with_questions(self.messages, change)})

    def marks(self) -> list[str]:
        text = "\n".join(tool.model_dump_json() for tool in self.tools)
        return [str(crc32(text.encode()))] if self.tools else []

    @model_validator(mode="after")
    def _alternates(self) -> Self:
        check_chat(self.messages)
        return self


class ChatDatum(_ConversationDatum):
    """A whole conversation to learn, with tools if it uses them (LLaMA-Factory: sharegpt)."""

    kind: Literal["chat"] = "chat"

    def answers(self) -> tuple[LabeledAnswer, ...]:
        if any(m.tool_calls or m.role == "tool" for m in self.messages):
            return ()
        return (LabeledAnswer(self.prompt, self.messages[-1].content),)


def _shortest(answer: str | Conversation) -> str | Conversation:
    """An answer as text, if it is only text."""
    if isinstance(answer, str):
        return answer
    for message in (answer[0], answer[-1]):
        if message.role != "assistant" or message.tools or message.name:
            raise ValueError(
                f"it has role {message.role!r}, tools or a name, expected an assistant's"
            )
    if any(m.role == "assistant" and not m.content and not m.tool_calls for m in answer):
        raise ValueError("it is empty, expected text or calls of tools")
    check_turns(answer, first="assistant")
    is_text = len(answer) == 1 and not answer[0].tool_calls
    return answer[0].content if is_text else answer


Answer = Annotated[
    Annotated[Text, Field(min_length=1), Tag("text")]
    | Annotated[Conversation, Field(min_length=1), Tag("messages")],
    Discriminator(lambda value: "messages" if isinstance(value, list | tuple) else "text"),
    AfterValidator(_shortest),
]
"""The assistant's answer: text; a tuple with the message itself, if it calls tools; or a
segment of the conversation, from one assistant turn to another."""


class PreferenceDatum(_PromptedDatum):
    """A prompt with a better and a worse answer (LLaMA-Factory: `ranking: true`).

    The prompt is an instruction with its input. If tools are called or users are named, it is the
    conversation so far: `messages` in the form of `ChatDatum`, up to the turn to answer, and
    `tools`. Calls are stored as calls; a tool format writes them as text for training.

    An answer may be a segment of several turns, with others' messages between them (SDPO, DMPO).
    LLaMA-Factory itself has no such pairs.
    """

    kind: Literal["preference"] = "preference"
    instruction: Text = ""
    messages: Conversation = Field(default=(), exclude_if=not_)
    tools: tuple[Tool, ...] = Field(default=(), exclude_if=not_)
    chosen: Answer
    rejected: Answer

    @property
    def prompt(self) -> Conversation:
        """The conversation up to the answer, with the system message, and tools declared."""
        if not self.messages:
            return super().prompt
        return _opened(self.system, self.messages, self.tools)

    @property
    def question(self) -> str:
        return self.messages[0].content if self.messages else super().question

    @property
    def segments(self) -> tuple[Conversation, Conversation]:
        """The chosen and the rejected answer as conversations, usually of one message."""
        return _messages_of(self.chosen), _messages_of(self.rejected)

    def turns(self) -> list[tuple[str, Conversation]]:
        chosen, rejected = self.segments
        return [*_spoken(self.prompt), ("chosen", chosen), ("rejected", rejected)]

    def answers(self) -> tuple[LabeledAnswer, ...]:
        chosen, rejected = self.segments
        if self.messages or len(chosen) > 1:
            return ()
        prompt = self.prompt
        better, worse = chosen[0].content, rejected[0].content
        return LabeledAnswer(prompt, better), LabeledAnswer(prompt, worse, is_right=False)

    def with_questions(self, change: Callable[[str], str]) -> Self:
        if not self.messages:
            return super().with_questions(change)
        return self.model_copy(update={"messages": _with_questions(self.messages, change)})

    @model_validator(mode="after")
    def _has_one_prompt(self) -> PreferenceDatum:
        if not self.messages:
            if not self.instruction:
                raise ValueError("instruction is empty, expected text in it, or messages")
            if self.tools:
                raise ValueError("tools without messages, expected the prompt in messages")
            return self
        if self.instruction or self.input or self.history:
            raise ValueError(
                "messages beside an instruction, an input or a history, expected one prompt"
            )
        check_turns(self.messages)
        if self.messages[-1].role == "assistant":
            raise ValueError("messages ends with the assistant's turn, expected one to answer")
        return self

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

    def turns(self) -> list[tuple[str, Conversation]]:
        label = f"assistant ({'desirable' if self.desirable else 'undesirable'})"
        return [*_spoken(self.prompt), (label, _messages_of(self.output))]

    def answers(self) -> tuple[LabeledAnswer, ...]:
        return (LabeledAnswer(self.prompt, self.output, is_right=self.desirable),)

    def marks(self) -> list[str]:
        return [str(self.desirable)]


class TextDatum(Datum):
    """Plain text to continue pre-training on (LLaMA-Factory: stage `pt`)."""

    kind: Literal["text"] = "text"
    text: Text = Field(min_length=1)

    def turns(self) -> list[tuple[str, Conversation]]:
        return [("", (Message(role="user", content=self.text),))]

    def questions(self) -> list[str]:
        return [self.text]


class ScoredDatum(_ConversationDatum):
    """A conversation in the form of `ChatDatum`, with a weight for each assistant turn.

    A weight may have any sign: a turn with a weight above 0 becomes more likely, below 0 less
    likely. None marks a turn that was not scored; it teaches nothing, but counts as a turn. Our
    trainers learn from weights; LLaMA-Factory itself does not (see `scored_as` of
    `TrainingConfig`).
    """

    kind: Literal["scored"] = "scored"
    weights: tuple[Finite | None, ...]

    def turns(self) -> list[tuple[str, Conversation]]:
        how = (
            "assistant (not scored)" if weight is None else f"assistant (weight {weight:.4g})"
            for weight in self.weights
        )
        return [
            (next(how) if turn[0].role == "assistant" else speaker, turn)
            for speaker, turn in super().turns()
        ]

    def marks(self) -> list[str]:
        return [" ".join(map(str, self.weights)), *super().marks()]

    @model_validator(mode="after")
    def _has_a_weight_for_each_turn(self) -> ScoredDatum:
        turns = sum(message.role == "assistant" for message in self.messages)
        if len(self.weights) != turns:
            raise ValueError(
                f"weights has {len(self.weights)} items, expected {turns}: one for each turn of "
                "the assistant, null where it was not scored"
            )
        return self


TrainingDatum = Annotated[
    SupervisedDatum | ChatDatum | PreferenceDatum | KTODatum | TextDatum | ScoredDatum,
    Field(discriminator="kind"),
]
DatumKind = Literal["supervised", "chat", "preference", "kto", "text", "scored"]


def _opened(system: str, messages: Conversation, tools: tuple[Tool, ...]) -> Conversation:
    """The messages after the system message, with the tools declared in the first one."""
    opening = [Message(role="system", content=system)] if system else []
    first, *others = (*opening, *messages)
    return (first.model_copy(update={"tools": tools}) if tools else first, *others)


def _messages_of(answer: str | Conversation) -> Conversation:
    return (Message(role="assistant", content=answer),) if isinstance(answer, str) else answer


def _with_questions(messages: Conversation, change: Callable[[str], str]) -> Conversation:
    return tuple(
        m.model_copy(update={"content": change(m.content)}) if m.role == "user" else m
        for m in messages
    )


# --- parsing --------------------------------------------------------------------------------------

KINDS: dict[str, type[BaseModel]] = {
    model.model_fields["kind"].default: model for model in get_args(get_args(TrainingDatum)[0])
}
"""The model of each kind."""


def all_kinds() -> str:
    """Every kind with its fields, a line for each."""
    return "The kinds of records:" + "".join(f"\n  {kind}: {fields_of(kind)}" for kind in KINDS)


def fields_of(kind: str) -> str:
    """`instruction, output; optional: input, system, history`."""
    fields = KINDS[kind].model_fields
    names = [name for name in fields if name not in ("kind", "provenance")]
    needed = [name for name in names if fields[name].is_required()]
    optional = [name for name in names if name not in needed]
    text = ", ".join(needed)
    return f"{text}; optional: {', '.join(optional)}" if optional else text


_DATUM: TypeAdapter[TrainingDatum] = TypeAdapter(TrainingDatum)


def parse_training_datum(value: Any, *, index: int | None = None) -> TrainingDatum:
    """One training record from a model or a mapping (`kind` defaults to "supervised").

    Raises:
        InvalidRecordError: naming the index, the field and what was found there.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(warnings=False)  # `model_copy` and `model_construct` check nothing
    if isinstance(value, Mapping):
        value = {"kind": "supervised", **value}
    try:
        return _DATUM.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # loc begins with the union's tag ("supervised", ...), which is not a field of the record
        field = ".".join(str(part) for part in first["loc"][1:]) or None
        where = "record" if index is None else f"record {index}"
        raise InvalidRecordError(
            f"{where}, field {field or '(whole record)'}: {_reason(value, first, field)}",
            index=index,
            field=field,
        ) from None


def _reason(value: Any, problem: Any, field: str | None) -> str:
    """The value found and what was expected; for a wrong kind or field, also the valid ones."""
    shown = shorten(repr(problem["input"]), 200)
    if not isinstance(value, Mapping):
        return f"found {shown}, expected a record or a mapping with its fields. {all_kinds()}"
    kind, fault = value["kind"], problem["type"]
    if fault.startswith("union_tag"):
        return f"there is no kind {kind!r}. {all_kinds()}\nFound {shown}"
    message = f"{problem['msg']}; found {shown}"
    if fault not in ("extra_forbidden", "missing") or field is None or "." in field:
        return message
    names = "provenance (which has skill, subskill and task)"
    return f"{message}. A record of kind {kind!r} has {fields_of(kind)}, {names}"


def parse_training_data(values: Iterable[Any]) -> tuple[TrainingDatum, ...]:
    """A batch of training records; InvalidRecordError for the first malformed one."""
    return tuple(parse_training_datum(value, index=i) for i, value in enumerate(values))
