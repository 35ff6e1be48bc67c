"""The student's replies as text."""

from __future__ import annotations

from dataenvgym.records import CompletedTaskInstance
from dataenvgym.tool_formats import as_reply


def last_reply(completed: CompletedTaskInstance) -> str | None:
    """The student's last message with its calls, as text that parses back to this message.

    None if the student never answered.
    """
    ours = (m for m in reversed(completed.transcript) if m.role == "assistant")
    last = next(ours, None)
    return None if last is None else as_reply(last)
