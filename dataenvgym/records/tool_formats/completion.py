"""For students without a chat template: a conversation is one bare text, and a reply completes it.

There are no roles in such a text. So a conversation is at most a system message, which comes first,
and one message to answer; tools and further turns are refused.
"""

from __future__ import annotations

from typing import Literal, get_args

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.records import Conversation, Message
from dataenvgym.records.tool_formats.text import is_plain


class CompletionFormat:
    """Writes a conversation as the one text to complete."""

    def flatten(self, conversation: Conversation) -> Conversation:
        """The prompt as one user message.

        Raises:
            ConfigurationError: if the conversation has more turns than one, tools or names.
        """
        has_system = conversation[0].role == "system"
        system = [conversation[0].content] if has_system and conversation[0].content else []
        last, n_turns = conversation[-1], len(conversation) - has_system
        if n_turns != 1 or last.role != "user" or not is_plain(conversation):
            found = "tools or names of speakers" if n_turns == 1 else f"{n_turns} turns"
            raise ConfigurationError(
                f"student.format is 'completion', and this conversation has {found}: expected one "
                "text to complete, with a system message at most. Use student.format=chat and a "
                "student with a chat template, or a task whose problems take one reply"
            )
        return (Message(role="user", content="\n\n".join([*system, last.content])),)

    def parse(self, text: str) -> Message:
        """The whole text: there are no calls."""
        return Message(role="assistant", content=text)


COMPLETION = CompletionFormat()

StudentFormat = Literal["chat", "completion"]


def is_completion(format: StudentFormat, tool_format: str | None) -> bool:
    """Whether a predictor with these two options writes no chat template.

    Raises:
        ConfigurationError: for another format, and for a tool format that would have no effect.
    """
    check_one_of(get_args(StudentFormat), format=format)
    if format == "completion" and tool_format is not None:
        raise ConfigurationError(
            f"tool_format is {tool_format!r} and format 'completion', in which there are no tools: "
            "leave tool_format out, or set student.format=chat"
        )
    return format == "completion"
