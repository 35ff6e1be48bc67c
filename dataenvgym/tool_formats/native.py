"""For API models: the server is sent tools, calls and results apart from the text.

Calls in its answers are written back as text in the form of `hermes`, for a reply is text.
"""

from __future__ import annotations

from dataenvgym.records import Conversation, Message
from dataenvgym.tool_formats.hermes import HERMES
from dataenvgym.tool_formats.text import spoken


class NativeFormat:
    """Leaves conversations as they are, but for names, which servers take in no common form."""

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation with the names of users in their text."""
        if all(message.name is None for message in conversation):
            return conversation
        return tuple(
            m.model_copy(update={"content": spoken(m), "name": None}) if m.role == "user" else m
            for m in conversation
        )

    def parse(self, text: str) -> Message:
        """The assistant's message that the text is."""
        return HERMES.parse(text)


NATIVE = NativeFormat()
