"""The checked `data` of an instance of these tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from dataenvgym.domains.tool_use.matching import GoldCall
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import Conversation, TaskInstance, Tool, ToolCall
from dataenvgym.records.model import Model, Text
from dataenvgym.tool_formats import calls_text

NO_CALL = "None of the tools can do this."
"""The gold answer if no tool should be called."""


class CallsProblem(Model):
    """Tools, the conversation so far, and the expected answer.

    Attributes:
        tools: the tools that the student may call.
        messages: the conversation so far; the first message is a user's, or the system's followed
            by a user's, and the last one a user's or a tool's. The student reads the problem's own
            system message after the task's.
        gold: the calls to make.
        any_call: whether any call is right, and none is wrong; there is no gold answer then.
        reply: the gold answer's words to the user, with its calls or without; "" if words are not
            compared.
    """

    tools: tuple[Tool, ...] = Field(min_length=1)
    messages: Conversation = Field(min_length=1)
    gold: tuple[GoldCall, ...] = ()
    reply: Text = ""
    any_call: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        opening = [message.role for message in self.messages if message.role != "system"][:1]
        if opening != ["user"] or "system" in [message.role for message in self.messages[1:]]:
            raise ValueError(
                f"messages have roles {[message.role for message in self.messages]!r}, expected a "
                "system message or none, then a user's"
            )
        if self.messages[-1].role not in ("user", "tool"):
            raise ValueError("messages ends with the assistant's turn, expected another one's")
        known = [tool.name for tool in self.tools]
        if twice := next((name for name in known if known.count(name) > 1), None):
            raise ValueError(f"tools has {twice!r} twice, expected one tool of each name")
        for i, call in enumerate(self.gold):
            if call.name not in known:
                raise ValueError(
                    f"gold[{i}] calls {call.name!r}, which is not declared: the tools are "
                    f"{', '.join(known)}"
                )
        return self

    @property
    def answer(self) -> str | None:
        """The gold answer as a reply of the student; None if any call is right."""
        if self.any_call:
            return None
        calls = as_calls_text([gold.call for gold in self.gold])
        return calls or self.reply or NO_CALL

    def instance(self, **fields: Any) -> TaskInstance:
        """The instance with this problem; its instruction is the user's words so far."""
        said = (message.content for message in self.messages if message.role == "user")
        data = self.model_dump(mode="json", exclude_defaults=True)
        return TaskInstance(instruction="\n".join(said), answer=self.answer, data=data, **fields)


def problem_of(instance: TaskInstance) -> CallsProblem:
    """The problem of an instance.

    Raises:
        InvalidInstanceError: if its data are invalid.
    """
    try:
        return CallsProblem.model_validate(instance.data)
    except ValidationError as error:
        raise InvalidInstanceError(f"instance {instance.id!r}: {first_complaint(error)}") from None


def first_complaint(error: ValidationError) -> str:
    """The first error, preceded by the field."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    message = first["msg"].removeprefix("Value error, ")
    return f"field {field!r}: {message}" if field else message


def as_calls_text(calls: Sequence[ToolCall]) -> str:
    """The calls as a reply that every tool format can parse; "" for none."""
    return calls_text((call.name, call.arguments) for call in calls)


def canonical(calls: Sequence[ToolCall]) -> str:
    """One text for calls that are equal except for the order of calls and of arguments."""
    texts = (
        json.dumps([call.name, _plain(call.arguments)], ensure_ascii=False, sort_keys=True)
        for call in calls
    )
    return json.dumps(sorted(texts), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """The value with whole numbers as integers: 5.0 becomes 5."""
    if isinstance(value, dict):
        return {name: _plain(field) for name, field in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def declaring(messages: Conversation, tools: Sequence[Tool]) -> Conversation:
    """The conversation with the tools on its first message."""
    first, *others = messages
    return (first.model_copy(update={"tools": tuple(tools)}), *others)


def bare(messages: Conversation) -> tuple[Conversation, tuple[Tool, ...]]:
    """The conversation without the tools, and the tools."""
    first, *others = messages
    return (first.model_copy(update={"tools": ()}), *others), first.tools
