"""Writes tools, calls and results as text for a model, and parses calls in its text.

formats        `ToolFormat`, their protocol; `TOOL_FORMATS`, all by name; `read_reply`, which parses
               calls in any of them, and `malformed_call`, which explains those that are invalid
text           formats in which everything is text: the same turns for prompts and for training
hermes         calls are JSON between `<tool_call>` tags: Qwen, Hermes and others
llama3         calls are bare JSON: Llama 3
mistral        calls are a JSON list after `[TOOL_CALLS]`: Mistral
llama_factory  calls are `Action:` lines: LLaMA-Factory's default
pocket         calls are a few words: the pocket student of tools
native         the server gets tools and calls separately from the text
completion     one bare text without roles or tools, for students without a chat template
thoughts       what a reply says: `said_in`, its text without the model's thoughts
json_objects   JSON in the middle of a text
json_calls     ... that is a call
json_faults    ... and why it is not a call

A predictor has one format. It applies it to the student's prompts and to its training data, so both
have the same tokens. The student's message stays text until a task environment parses it
(`read_reply`), which recognizes calls in any of the formats and needs no option.
"""

from dataenvgym.records.tool_formats.completion import COMPLETION, StudentFormat, is_completion
from dataenvgym.records.tool_formats.formats import (
    DEFAULT,
    TOOL_FORMATS,
    ToolFormat,
    malformed_call,
    read_reply,
    text_formats,
    tool_format,
    training_format,
)
from dataenvgym.records.tool_formats.hermes import HERMES, as_function, as_reply, calls_text
from dataenvgym.records.tool_formats.llama3 import LLAMA3
from dataenvgym.records.tool_formats.llama_factory import LLAMA_FACTORY
from dataenvgym.records.tool_formats.mistral import MISTRAL
from dataenvgym.records.tool_formats.native import NATIVE
from dataenvgym.records.tool_formats.pocket import POCKET
from dataenvgym.records.tool_formats.text import TextFormat, is_plain, spoken
from dataenvgym.records.tool_formats.thoughts import said_in

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
    "tool_format",
    "training_format",
]
