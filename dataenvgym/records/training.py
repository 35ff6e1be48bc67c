"""Training records: the five kinds that LLaMA-Factory supports, and scored ones.

Each kind is a model of its own, identified by `kind`, and each has a `Provenance`.
"""

from __future__ import annotations

from operator import not_
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from dataenvgym.records.conversations import (
    Conversation,
    Message,
    Tool,
    is_one_turn,
    turns_of,
)
from dataenvgym.records.model import Finite, Model, Text


class Provenance(Model):
    """The origin of a training record.

    Attributes:
        id: unique within a run; empty until the environment stamps it.
        skill: the skill that it teaches, or None.
        subskill: the part of that skill, or None.
        agent: the name of the agent that wrote it, or None.
        iteration: the 1-based iteration that it was written for, or None.
    """

    id: Text = ""
    skill: Text | None = None
    subskill: Text | None = None
    agent: Text | None = None
    iteration: int | None = None


class _Datum(Model):
    provenance: Provenance = Provenance()


class _PromptedDatum(_Datum):
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


class SupervisedDatum(_PromptedDatum):
    """A prompt and the answer to learn (LLaMA-Factory: alpaca)."""

    kind: Literal["supervised"] = "supervised"
    output: Text = Field(min_length=1)


class ChatDatum(_Datum):
    """A whole conversation to learn, with tools if it uses them (LLaMA-Factory: sharegpt).

    Messages of others and of the assistant alternate. The conversation begins with a user and ends
    with the assistant. Several messages before a reply are one turn if tool results or named users
    are among them. The system message is in `system`, the tools are in `tools`.
    """

    kind: Literal["chat"] = "chat"
    messages: Conversation = Field(min_length=2)
    system: Text = ""
    tools: tuple[Tool, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation in the student's form: with the system message, and tools declared."""
        return _opened(self.system, self.messages, self.tools)

    @model_validator(mode="after")
    def _alternates(self) -> ChatDatum:
        _check_chat(self.messages)
        return self


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
    _check_turns(answer, first="assistant")
    is_text = len(answer) == 1 and not answer[0].tool_calls
    return answer[0].content if is_text else answer


def _form_of_answer(value: Any) -> str:
    return "messages" if isinstance(value, list | tuple) else "text"


Answer = Annotated[
    Annotated[Text, Field(min_length=1), Tag("text")]
    | Annotated[Conversation, Field(min_length=1), Tag("messages")],
    Discriminator(_form_of_answer),
    AfterValidator(_shortest),
]
"""The assistant's answer: text; a tuple with the message itself, if it calls tools; or a
segment of the conversation, from one assistant turn to another."""


class PreferenceDatum(_PromptedDatum):
    """A prompt with a better and a worse answer (LLaMA-Factory: `ranking: true`).

    The prompt is an instruction with its input. If tools are called or users are named, it is the
    conversation so far: `messages` in the form of `ChatDatum`, up to the turn to answer, and
    `tools`. Calls are stored as calls; a tool format writes them as text for training.

    An answer may be a segment of several turns, with others' messages between them (SDPO). Both
    answers then have the same number of assistant turns. LLaMA-Factory has no such pairs.
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
    def answers(self) -> tuple[Message, Message]:
        """The chosen and the rejected answer as messages; of segments, the first messages."""
        chosen, rejected = self.segments
        return chosen[0], rejected[0]

    @property
    def segments(self) -> tuple[Conversation, Conversation]:
        """The chosen and the rejected answer as conversations, usually of one message."""
        return _messages_of(self.chosen), _messages_of(self.rejected)

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
        _check_turns(self.messages)
        if self.messages[-1].role == "assistant":
            raise ValueError("messages ends with the assistant's turn, expected one to answer")
        return self

    @model_validator(mode="after")
    def _differ(self) -> PreferenceDatum:
        if self.chosen == self.rejected:
            raise ValueError("chosen and rejected are the same text, expected two different ones")
        better, worse = (sum(m.role == "assistant" for m in segment) for segment in self.segments)
        if better != worse:
            raise ValueError(
                f"chosen has {better} turns of the assistant and rejected {worse}, expected the "
                "same number"
            )
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


class ScoredDatum(_Datum):
    """A conversation in the form of `ChatDatum`, with a weight for each assistant turn.

    A weight may have any sign: a turn with a weight above 0 becomes more likely, below 0 less
    likely. None marks a turn that was not scored; it teaches nothing, but counts as a turn. The
    in-process trainer learns from weights; LLaMA-Factory has no such stage (see `scored_as` of
    `TrainingConfig`).
    """

    kind: Literal["scored"] = "scored"
    messages: Conversation = Field(min_length=2)
    system: Text = ""
    tools: tuple[Tool, ...] = ()
    weights: tuple[Finite | None, ...]

    @property
    def conversation(self) -> Conversation:
        """The conversation in the student's form: with the system message, and tools declared."""
        return _opened(self.system, self.messages, self.tools)

    @model_validator(mode="after")
    def _has_a_weight_for_each_turn(self) -> ScoredDatum:
        _check_chat(self.messages)
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


def _check_turns(messages: Conversation, *, first: str = "user") -> None:
    """Raise ValueError unless turns of others and the assistant alternate, from `first` on."""
    if messages[0].role != first:
        raise ValueError(f"messages[0] has role {messages[0].role!r}, expected {first!r}")
    for i, message in enumerate(messages):
        if message.role == "system" or message.tools:
            what = "role 'system'" if message.role == "system" else "tools"
            raise ValueError(f"messages[{i}] has {what}, expected it in the record's own field")
        if message.tool_calls and message.role != "assistant":
            raise ValueError(
                f"messages[{i}] has tool calls and role {message.role!r}, expected 'assistant'"
            )
    for start, turn in turns_of(messages):
        if len(turn) > 1 and not is_one_turn(turn):
            raise ValueError(
                f"messages[{start + 1}] has role {turn[1].role!r} again, expected "
                f"{'an assistant' if turn[0].role == 'user' else 'a user or tool'} message"
            )


def _check_chat(messages: Conversation) -> None:
    """Check the turns, and that the last one is the assistant's."""
    _check_turns(messages)
    if messages[-1].role != "assistant":
        raise ValueError("messages ends with a turn of others, expected the assistant's")
