"""The checked `data` of an instance of these tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from dataenvgym.domains.tool_use.calls.api_bank_apis import CheckedCall
from dataenvgym.domains.tool_use.matching import GoldCall
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Conversation, Message, TaskInstance, Tool, ToolCall
from dataenvgym.records.model import Model, Text
from dataenvgym.records.tool_formats import calls_text, to_json
from dataenvgym.tasks.rows import HubDataset

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
        checked: the one gold call, for the API that judges it; None compares only arguments.
    """

    tools: tuple[Tool, ...] = Field(min_length=1)
    messages: Conversation = Field(min_length=1)
    gold: tuple[GoldCall, ...] = ()
    reply: Text = ""
    any_call: bool = False
    checked: CheckedCall | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        roles = [message.role for message in self.messages]
        turns = roles[roles[0] == "system" :]
        if turns[:1] != ["user"] or "system" in turns or turns[-1] == "assistant":
            raise ValueError(
                f"messages have roles {roles}, expected a system message or none, then a user's, "
                "and one of a user or a tool in the end"
            )
        known = [tool.name for tool in self.tools]
        if len({*known}) < len(known) or not {call.name for call in self.gold} <= {*known}:
            calls = [call.name for call in self.gold]
            raise ValueError(f"gold calls {calls}, and the tools are {known}, expected them, once")
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


def files_in(place: Path | HubDataset, data_set: str) -> list[Path]:
    """The files in a folder of a data set, sorted, or the one file.

    Raises:
        ConfigurationError: for a place that does not exist, or is not on the disk.
    """
    if isinstance(place, HubDataset) or not place.exists():
        raise ConfigurationError(
            f"{data_set} is read from its files, and {str(place)!r} is not a file or folder: give "
            "the path of a folder with them"
        )
    return sorted(place.iterdir()) if place.is_dir() else [place]


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


# --- a problem as one text, and back --------------------------------------------------------------


_TOOLS = "\n\nTools:\n"
_SPEAKERS = {
    "System": "system",
    "User": "user",
    "Assistant": "assistant",
    "Call": "assistant",
    "Result": "tool",
}
_TURN = re.compile(rf"^({'|'.join(_SPEAKERS)}): ?", re.MULTILINE)


def as_text(messages: Conversation, tools: Sequence[Tool]) -> str:
    """The conversation, followed by the tools, if there are any."""
    said = (
        messages[0].content
        if len(messages) == 1 and not _TURN.match(messages[0].content)
        else "\n".join(line for message in messages for line in _lines(message))
    )
    listed = "\n".join(to_json(tool.model_dump(mode="json")) for tool in tools)
    return f"{said}{_TOOLS}{listed}" if tools else said


def from_text(text: str) -> tuple[Conversation, tuple[Tool, ...]] | None:
    """The conversation and the tools in a text; None if the text has another form."""
    said, mark, listed = text.rpartition(_TOOLS)
    if not mark:
        said, listed = text, ""
    try:
        tools = [Tool.model_validate_json(line) for line in listed.splitlines() if line.strip()]
        messages = _messages(said)
    except (ValueError, KeyError, TypeError, RecursionError):  # pydantic's is a ValueError
        return None
    return messages, tuple(tools)


def _lines(message: Message) -> Iterator[str]:
    if message.role != "assistant":
        speaker = next(name for name, role in _SPEAKERS.items() if role == message.role)
        yield f"{speaker}: {message.content}"
        return
    if message.content:
        yield f"Assistant: {message.content}"
    for call in message.tool_calls:
        yield f"Call: {to_json(call.model_dump(mode='json'))}"


def _messages(said: str) -> Conversation:
    marks = list(_TURN.finditer(said))
    if not marks or marks[0].start():
        return (Message(role="user", content=said),)
    messages: list[Message] = []
    ends = [*(mark.start() - 1 for mark in marks[1:]), len(said)]
    for mark, end in zip(marks, ends, strict=True):
        text = said[mark.end() : end]
        if mark[1] != "Call":
            messages.append(Message(role=_SPEAKERS[mark[1]], content=text))  # type: ignore[arg-type]
            continue
        if not messages or messages[-1].role != "assistant":
            messages.append(Message(role="assistant", content=""))
        calls = (*messages[-1].tool_calls, ToolCall.model_validate(json.loads(text)))
        messages[-1] = messages[-1].model_copy(update={"tool_calls": calls})
    return tuple(messages)
