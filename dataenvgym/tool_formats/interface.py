"""The protocol of tool formats."""

from __future__ import annotations

from typing import Protocol

from dataenvgym.records import Conversation, Message


class ToolFormat(Protocol):
    """Writes tools into conversations, and reads calls.

    It may also have the `marks` and `is_bare` of a `TextFormat`, for `read_reply`.
    """

    def flatten(self, conversation: Conversation) -> Conversation:
        """The conversation as a chat template (or an API) takes it.

        One without tools, calls, results and names is returned as it is.
        """
        ...

    def parse(self, text: str) -> Message:
        """The assistant's message that the text is: its calls, and the text beside them.

        A malformed call stays text. It never raises, and takes linear time, for the
        text may come from any model.
        """
        ...
