"""Writes tools, calls and results as text for a model, and parses calls in its text.

All formats by name are in `TOOL_FORMATS`. `read_reply` parses a reply in any of them, and
`malformed_call` explains calls that are invalid. The parts:

text           `ToolFormat`, their base; formats in which everything is text: the same turns for
               prompts and for training; one without a chat template
json_formats   calls are JSON: Hermes (Qwen and others), Mistral, Llama 3; servers with calls
llama_factory  calls are `Action:` lines: LLaMA-Factory's default
pocket         calls are a few words: the pocket student of tools
json_calls     JSON in the middle of a text: whether it is a call, and why not
thoughts       what a reply says: `said_in`, its text without the model's thoughts

A predictor has one format. It applies it to the student's prompts and to its training data, so both
have the same tokens. The student's message stays text until a task environment parses it
(`read_reply`), which recognizes calls in any of the formats and needs no option.
"""

from __future__ import annotations

from typing import NamedTuple

from dataenvgym.errors import ConfigurationError
from dataenvgym.records.conversations import Conversation, Message
from dataenvgym.records.tool_formats.json_calls import to_json
from dataenvgym.records.tool_formats.json_formats import (
    HERMES,
    LLAMA3,
    MISTRAL,
    NATIVE,
    as_function,
    calls_text,
)
from dataenvgym.records.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.records.tool_formats.pocket import POCKET
from dataenvgym.records.tool_formats.text import (
    COMPLETION,
    StudentFormat,
    TextFormat,
    ToolFormat,
    is_completion,
    is_plain,
    spoken,
)
from dataenvgym.records.tool_formats.thoughts import blanked, said_in

__all__ = [
    "COMPLETION",
    "DEFAULT",
    "HERMES",
    "LLAMA3",
    "LLAMA_FACTORY",
    "MISTRAL",
    "NATIVE",
    "POCKET",
    "TOOL_FORMATS",
    "ParsedReply",
    "StudentFormat",
    "TextFormat",
    "ToolFormat",
    "as_function",
    "as_reply",
    "calls_text",
    "is_completion",
    "is_plain",
    "malformed_call",
    "read_reply",
    "said_in",
    "spoken",
    "text_formats",
    "to_json",
    "tool_format",
    "training_format",
]

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


def tool_format(name: str) -> ToolFormat:
    """The format of that name; ConfigurationError if it does not exist."""
    if name not in TOOL_FORMATS:
        raise ConfigurationError(
            f"tool_format is {name!r}, expected one of {', '.join(TOOL_FORMATS)}"
        )
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


class ParsedReply(NamedTuple):
    """A student's reply.

    Attributes:
        message: its text and calls, as transcripts and training records keep them.
        said: the same without its thoughts, for everybody else.
    """

    message: Message
    said: Message


def read_reply(conversation: Conversation, text: str) -> ParsedReply:
    """Parse the student's message; calls are parsed if the conversation declares tools.

    If several formats find calls, the one whose first call begins first counts: what is quoted in a
    value of a call is part of it. Bare JSON is a call only if it names a declared tool, and is not
    a copy of its declaration; otherwise it is an answer in JSON.
    """
    message = Message(role="assistant", content=text)
    tools = conversation[0].tools if conversation else ()
    if tools and (formats := _formats_in(text)):
        declared = {tool.name: tool.parameters for tool in tools}
        hidden, missing = blanked(text)
        found = []
        for known in formats:
            read = known.read(text, hidden, missing)
            named = [c for c in read.message.tool_calls if c.name in declared] if read else []
            own = [c for c in named if not c.arguments or c.arguments != declared[c.name]]
            if read and (own or not known.is_bare):
                found.append(read)
        message = min(found, key=lambda read: read.start).message if found else message
    if (said := said_in(message.content)) == message.content:
        return ParsedReply(message, message)
    return ParsedReply(message, message.model_copy(update={"content": said}))


def as_reply(message: Message) -> str:
    """The assistant's message as text that parses back to this message."""
    return HERMES.written(message).content


def malformed_call(text: str) -> str | None:
    """One sentence about a malformed call in the text.

    None for an ordinary text, and for one whose calls can all be parsed. The sentence has at most
    200 characters. It takes linear time, and never raises.
    """
    if not (formats := _formats_in(text)):
        return None
    text = text.encode(errors="replace").decode()  # lone surrogates are in no message
    hidden, missing = blanked(text)
    read = [(known, known.read(text, hidden, missing)) for known in formats]
    found = [
        one for known, one in read if one and not (known.is_bare and one.message.content.strip())
    ]
    if found:
        hidden, _ = blanked(min(found, key=lambda one: one.start).message.content)
    return next(filter(None, (known.fault(hidden, 0) for known in formats)), None)


def _formats_in(text: str) -> list[ToolFormat]:
    """The formats in which the text may contain, or attempt, a call."""
    known = TOOL_FORMATS.values()
    return [one for one in known if not one.marks or any(map(text.__contains__, one.marks))]
