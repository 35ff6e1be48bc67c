"""A conversation: a tuple of messages. The first may declare tools, later ones call them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import not_
from typing import Any, Literal

from pydantic import Field, model_validator

from dataenvgym.records.model import JsonObject, Model, Text


class Tool(Model):
    """A tool that the assistant may call.

    OpenAI's form, `{"type": "function", "function": {...}}`, is accepted as well.

    Attributes:
        parameters: the JSON schema of its arguments.
    """

    name: Text = Field(min_length=1)
    description: Text = ""
    parameters: JsonObject = {}

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        wrapped = isinstance(value, dict) and value.get("type") == "function"
        return value["function"] if wrapped and "function" in value else value


class ToolCall(Model):
    """A tool call by the assistant: the tool's name and its arguments by name."""

    name: Text = Field(min_length=1)
    arguments: JsonObject = {}


class Message(Model):
    """One turn of a conversation, with a role that chat templates know.

    Attributes:
        tools: the tools that the assistant may call; only on the first message.
        name: the speaker, in a scene with several users; None if the role is enough.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: Text
    tool_calls: tuple[ToolCall, ...] = ()
    tools: tuple[Tool, ...] = Field(default=(), exclude_if=not_)
    name: Text | None = Field(default=None, min_length=1, exclude_if=lambda name: name is None)


Conversation = tuple[Message, ...]


def turns_of(conversation: Conversation) -> Iterator[tuple[int, Conversation]]:
    """Each run of replies, and each run of other messages; with the first one's index."""
    start = 0
    for _, run in groupby(conversation, key=lambda message: message.role == "assistant"):
        turn = tuple(run)
        yield start, turn
        start += len(turn)


def is_one_turn(messages: Conversation) -> bool:
    """Whether a chat template gets these as one turn: if a tool or a named user is among them."""
    return any(m.role == "tool" or (m.role == "user" and m.name) for m in messages)


def check_turns(messages: Conversation, *, first: str = "user") -> None:
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


def check_chat(messages: Conversation) -> None:
    """Check the turns, and that the last one is the assistant's."""
    check_turns(messages)
    if messages[-1].role != "assistant":
        raise ValueError("messages ends with a turn of others, expected the assistant's")
