"""How tools, calls and results become text for a model, and how calls are read from its text.

formats        `TOOL_FORMATS`, the formats by name, and `read_reply`, which reads all of them
interface      what a format is: `flatten` and `parse`
text           a format in which everything is text: the same turns for prompts and for training
hermes         calls are JSON between `<tool_call>` tags: Qwen, Hermes and others
llama3         calls are bare JSON: Llama 3
mistral        calls are a JSON list behind `[TOOL_CALLS]`: Mistral
llama_factory  calls are `Action:` lines: LLaMA-Factory's default
pocket         calls are a few words: the pocket student of tools
native         the server is sent tools and calls apart from the text
malformed      what is wrong with a call that cannot be read
json_objects   JSON in the middle of a text
json_calls     ... which is a call
json_faults    ... and why it is none

A predictor has one format. It flattens with it the student's prompts and its training
data, so both have the same tokens. The student's message stays text until a task environment reads
it (`read_reply`); nothing need be told there, for a call in any of the formats is read.
"""

from dataenvgym.tool_formats.formats import (
    DEFAULT,
    TOOL_FORMATS,
    read_reply,
    text_formats,
    tool_format,
    training_format,
)
from dataenvgym.tool_formats.hermes import HERMES, as_function, as_reply, calls_text
from dataenvgym.tool_formats.interface import ToolFormat
from dataenvgym.tool_formats.llama3 import LLAMA3, llama3
from dataenvgym.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.tool_formats.malformed import malformed_call
from dataenvgym.tool_formats.mistral import MISTRAL
from dataenvgym.tool_formats.native import NATIVE
from dataenvgym.tool_formats.pocket import POCKET
from dataenvgym.tool_formats.text import TextFormat, is_plain, spoken

__all__ = [
    "DEFAULT",
    "HERMES",
    "LLAMA3",
    "LLAMA_FACTORY",
    "MISTRAL",
    "NATIVE",
    "POCKET",
    "TOOL_FORMATS",
    "TextFormat",
    "ToolFormat",
    "as_function",
    "as_reply",
    "calls_text",
    "is_plain",
    "llama3",
    "malformed_call",
    "read_reply",
    "spoken",
    "text_formats",
    "tool_format",
    "training_format",
]
