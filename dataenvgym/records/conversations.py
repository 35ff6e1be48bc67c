"""A conversation: a tuple of messages, some of which call tools."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dataenvgym.records.model import Json, Model, Text


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
