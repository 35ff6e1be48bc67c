"""A conversation: a tuple of messages. The first may declare tools, later ones call them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import not_
from typing import Any, Literal

from pydantic import Field, model_validator

from dataenvgym.records.model import Json, Model, Text


class Tool(Model):
    """A tool that the assistant may call.

    OpenAI's form, `{"type": "function", "function": {...}}`, is accepted as well.

    Attributes:
        parameters: the JSON schema of its arguments.
    """

    name: Text = Field(min_length=1)
    description: Text = ""
    parameters: dict[str, Json] = {}

    @model_validator(mode="before")
    @classmethod
    def _unwrap(cls, value: Any) -> Any:
        wrapped = isinstance(value, dict) and value.get("type") == "function"
        return value["function"] if wrapped and "function" in value else value


class ToolCall(Model):
    """A tool call by the assistant: the tool's name and its arguments by name."""

    name: Text = Field(min_length=1)
    arguments: dict[str, Json] = {}


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
