"""For servers that get tools, calls and results separately from the text.

Calls in their answers are written as text in the form of `hermes`, because a reply is text. An
answer in the form of OpenAI's message, `{"tool_calls": [...]}`, is parsed as well.
"""

from __future__ import annotations

from typing import Any

from dataenvgym.records import Conversation, Message, ToolCall
from dataenvgym.records.tool_formats.hermes import HERMES
from dataenvgym.records.tool_formats.json_calls import last_spans, listed_calls
from dataenvgym.records.tool_formats.text import message_of, spoken
from dataenvgym.records.tool_formats.thoughts import blanked


class NativeFormat:
    """Leaves conversations unchanged, except for names, for which servers have no common form."""

    marks = (*HERMES.marks, '"tool_calls"')

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation with the names of users in their text."""
        if all(message.name is None for message in conversation):
            return conversation
        return tuple(
            m.model_copy(update={"content": spoken(m), "name": None}) if m.role == "user" else m
            for m in conversation
        )

    def parse(self, text: str) -> Message:
        """Parse a text into the assistant's message."""
        message = HERMES.parse(text)
        return message if message.tool_calls else _parse_message(text)


def _parse_message(text: str) -> Message:
    said = []

    def calls_in(value: Any) -> list[ToolCall]:
        if calls := listed_calls(value):
            said.append(value.get("content"))
        return calls

    message = message_of(text, last_spans(blanked(text), 0, calls_in))
    content = "".join([message.content, *(one for one in said if isinstance(one, str))])
    return (
        message if content == message.content else message.model_copy(update={"content": content})
    )


NATIVE = NativeFormat()
