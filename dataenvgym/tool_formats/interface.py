"""The protocol of tool formats."""

from __future__ import annotations

from typing import Protocol

from dataenvgym.records import Conversation, Message


class ToolFormat(Protocol):
    """Writes tools into conversations, and parses calls.

    It may also have the `marks` and `is_bare` of a `TextFormat`, for `read_reply`.
    """

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation in the form for a chat template (or an API).

        A conversation without tools, calls, results and names is returned unchanged.
        """
        ...

    def parse(self, text: str) -> Message:
        """Parse a text into the assistant's message: its calls, and the text besides them.

        A malformed call stays text. It never raises, and takes linear time, because the text may
        come from any model.
        """
        ...
