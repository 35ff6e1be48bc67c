"""How tools, calls and results become text for a model, and how calls are read from its text.

formats        `TOOL_FORMATS`, the formats by name, and `read_reply`, which reads all of them
interface      what a format is: `flatten` and `parse`
text           a format in which everything is text: the same turns for prompts and for training
hermes         calls are JSON between `<tool_call>` tags: Qwen, Hermes and others
llama_factory  calls are `Action:` lines: LLaMA-Factory's default
pocket         calls are a few words: the pocket students
native         for API models: the server is sent tools and calls apart from the text
json_objects   JSON objects in the middle of a text

A predictor has one format. It flattens with it what the student is asked and what it is trained
on, so both have the same tokens. What the student says stays text until a task environment reads
it (`read_reply`); nothing need be told there, for a call in any of the formats is read.
"""

from dataenvgym.tool_formats.formats import (
    DEFAULT,
    TOOL_FORMATS,
    read_reply,
    tool_format,
    training_format,
)
from dataenvgym.tool_formats.hermes import HERMES, as_function, as_reply, calls_text
from dataenvgym.tool_formats.interface import ToolFormat
from dataenvgym.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.tool_formats.native import NATIVE
from dataenvgym.tool_formats.pocket import POCKET
from dataenvgym.tool_formats.text import TextFormat, spoken

__all__ = [
    "DEFAULT",
    "HERMES",
    "LLAMA_FACTORY",
    "NATIVE",
    "POCKET",
    "TOOL_FORMATS",
    "TextFormat",
    "ToolFormat",
    "as_function",
    "as_reply",
    "calls_text",
    "read_reply",
    "spoken",
    "tool_format",
    "training_format",
]
