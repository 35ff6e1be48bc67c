"""The formats by name, and the reading of replies."""

from __future__ import annotations

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import Conversation, Message
from dataenvgym.tool_formats.hermes import HERMES
from dataenvgym.tool_formats.interface import ToolFormat
from dataenvgym.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.tool_formats.native import NATIVE
from dataenvgym.tool_formats.pocket import POCKET

DEFAULT = "llama_factory"
"""The format of students, unless their predictor says otherwise."""

# The order is that in which replies are read: JSON between tags is never mistaken for lines.
TOOL_FORMATS: dict[str, ToolFormat] = {
    "hermes": HERMES,
    "llama_factory": LLAMA_FACTORY,
    "native": NATIVE,
    "pocket": POCKET,
}
"""All formats; add your own under a name of its own."""


def tool_format(name: str) -> ToolFormat:
    """The format of that name.

    Raises:
        ConfigurationError: if there is none.
    """
    if name not in TOOL_FORMATS:
        raise ConfigurationError(
            f"tool_format is {name!r}, expected one of {', '.join(TOOL_FORMATS)}."
            f"{did_you_mean(str(name), TOOL_FORMATS)}"
        )
    return TOOL_FORMATS[name]


def training_format(name: str) -> ToolFormat:
    """The format of that name, for a student that is trained: everything it sees is text.

    Raises:
        ConfigurationError: if there is none, or it is `native`.
    """
    if name == "native":
        raise ConfigurationError(
            "tool_format is 'native', which is for API models: a student is trained on text, "
            f"so take one of {', '.join(n for n in TOOL_FORMATS if n != 'native')}"
        )
    return tool_format(name)


def read_reply(conversation: Conversation, text: str) -> Message:
    """What the student says to the conversation; calls are read if it declares tools."""
    if conversation and conversation[0].tools:
        for known in TOOL_FORMATS.values():
            if (message := known.parse(text)).tool_calls:
                return message
    return Message(role="assistant", content=text)
