"""A problem as one text, as teachers read and write it, and back.

    What is 3 factorial?

    Tools:
    {"name": "factorial", "description": "...", "parameters": {...}}

A conversation of several turns has one line per turn, which begins with the speaker:

    User: Add a meeting for tomorrow.
    Call: {"name": "GetToday", "arguments": {}}
    Result: 2023-03-31
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from dataenvgym.records import Conversation, Message, Tool, ToolCall
from dataenvgym.tool_formats.json_objects import to_json

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
        messages = tuple(_messages(said))
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


def _messages(said: str) -> Iterator[Message]:
    marks = list(_TURN.finditer(said))
    if not marks or marks[0].start():
        yield Message(role="user", content=said)
        return
    ends = [*(mark.start() - 1 for mark in marks[1:]), len(said)]
    waiting: Message | None = None
    for mark, end in zip(marks, ends, strict=True):
        text = said[mark.end() : end]
        if _SPEAKERS[mark[1]] != "assistant":
            if waiting:
                yield waiting
            waiting = None
            yield Message(role=_SPEAKERS[mark[1]], content=text)  # type: ignore[arg-type]
            continue
        before = waiting or Message(role="assistant", content="")
        if mark[1] == "Call":
            call = ToolCall.model_validate(json.loads(text))
            waiting = before.model_copy(update={"tool_calls": (*before.tool_calls, call)})
        else:
            if waiting:
                yield waiting
            waiting = Message(role="assistant", content=text)
    if waiting:
        yield waiting
