"""The protocol of tool formats, the formats by name, and parsing of replies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.records import Conversation, Message, Tool, ToolCall
from dataenvgym.records.tool_formats.hermes import HERMES
from dataenvgym.records.tool_formats.llama3 import LLAMA3
from dataenvgym.records.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.records.tool_formats.mistral import MISTRAL
from dataenvgym.records.tool_formats.native import NATIVE
from dataenvgym.records.tool_formats.pocket import POCKET
from dataenvgym.records.tool_formats.text import TextFormat


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


DEFAULT = "llama_factory"
"""The format of students, unless their predictor says otherwise."""

# If several formats find calls at the same place, the first one counts; `as_reply` writes in it.
TOOL_FORMATS: dict[str, ToolFormat] = {
    "hermes": HERMES,
    "mistral": MISTRAL,
    "native": NATIVE,
    "llama3": LLAMA3,
    "llama_factory": LLAMA_FACTORY,
    "pocket": POCKET,
}
"""All formats; add your own under a new name."""

_ANY = ("",)  # is in every text


def tool_format(name: str) -> ToolFormat:
    """The format of that name.

    Raises:
        ConfigurationError: if it does not exist.
    """
    check_one_of(TOOL_FORMATS, tool_format=name)
    return TOOL_FORMATS[name]


def text_formats() -> list[str]:
    """The names of the formats in which everything is text."""
    return [name for name in TOOL_FORMATS if name != "native"]


def training_format(name: str) -> ToolFormat:
    """The format of that name, for a student to be trained: it must write everything as text.

    Raises:
        ConfigurationError: if it does not exist, or is `native`.
    """
    if name == "native":
        raise ConfigurationError(
            "tool_format is 'native', which is for API models: a student is trained on text, "
            f"so take one of {', '.join(text_formats())}"
        )
    return tool_format(name)


def read_reply(conversation: Conversation, text: str) -> Message:
    """Parse the student's message; calls are parsed if the conversation declares tools.

    If several formats find calls, the one whose first call begins first counts: what is quoted in a
    value of a call is part of it. Bare JSON is a call only if it names a declared tool; otherwise
    it is an answer in JSON.
    """
    tools = conversation[0].tools if conversation else ()
    found = []
    for known in _formats_in(text) if tools else ():
        message = known.parse(text)
        if message.tool_calls and (not _is_bare(known) or _names(tools, message.tool_calls)):
            found.append(message)
    plain = Message(role="assistant", content=text)
    return min(found, key=partial(_begin_of_calls, text), default=plain)


def malformed_call(text: str) -> str | None:
    """One sentence about a malformed call in the text.

    None for an ordinary text, and for one whose calls can all be parsed. The sentence has at most
    200 characters. It takes linear time, and never raises.
    """
    if not (formats := _formats_in(text)):
        return None
    text = text.encode(errors="replace").decode()  # lone surrogates are in no message
    read = [(known, known.parse(text)) for known in formats]
    found = [m for known, m in read if m.tool_calls and not (_is_bare(known) and m.content.strip())]
    if found:
        text = min(found, key=partial(_begin_of_calls, text)).content
    text_formats = (known for known in formats if isinstance(known, TextFormat))
    return next(filter(None, (known.malformed(text) for known in text_formats)), None)


def _begin_of_calls(text: str, message: Message) -> int:
    """Where a parsed message leaves its text."""
    both = enumerate(zip(text, message.content, strict=False))
    return next((i for i, (one, other) in both if one != other), len(message.content))


def _formats_in(text: str) -> list[ToolFormat]:
    """The formats in which the text may contain, or attempt, a call."""
    found = []
    for known in TOOL_FORMATS.values():
        for mark in getattr(known, "marks", ()) or _ANY:
            if mark in text:
                found.append(known)
                break
    return found


def _is_bare(known: ToolFormat) -> bool:
    """Whether a call in the format counts only if it names a declared tool."""
    return getattr(known, "is_bare", False)


def _names(tools: Sequence[Tool], calls: Sequence[ToolCall]) -> bool:
    """Whether one of the calls names one of the tools, and is not a copy of its declaration."""
    declared = {tool.name: tool.parameters for tool in tools}
    return any(
        call.name in declared and (call.arguments != declared[call.name] or not call.arguments)
        for call in calls
    )
