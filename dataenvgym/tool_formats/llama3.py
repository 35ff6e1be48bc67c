"""Calls as Llama 3 writes them, with the words of Meta's prompts, also in LLaMA-Factory.

{"name": "search", "parameters": {"query": "x"}}

A call has no mark of its own: `json_calls` decides which text may be one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dataenvgym.records import Tool, ToolCall
from dataenvgym.tool_formats.hermes import as_function
from dataenvgym.tool_formats.json_calls import bare_fault, calls_of, last_spans
from dataenvgym.tool_formats.json_objects import to_json
from dataenvgym.tool_formats.llama_factory import join_results
from dataenvgym.tool_formats.text import Span, TextFormat

TODAY = "26 Jul 2024"
"""The day in the prompt: Llama 3.1's own chat template always uses this day."""

_TOOLS = """\
Cutting Knowledge Date: December 2023
Today Date: {today}

You have access to the following functions. To call a function, please respond with JSON for a \
function call. Respond in the format {{"name": function name, "parameters": dictionary of argument \
name and its value}}. Do not use variables.

{tools}"""
_to_json = json.JSONEncoder(ensure_ascii=False, indent=4).encode


def llama3(today: str) -> TextFormat:
    """The format, with a prompt of that day, such as "26 Jul 2024"."""

    def tools(declared: Sequence[Tool]) -> str:
        listed = "".join(f"{_to_json(as_function(tool))}\n\n" for tool in declared)
        return _TOOLS.format(today=today, tools=listed)

    return TextFormat(
        tools, _calls, join_results, _spans, marks=('"name"',), is_bare=True, fault=bare_fault
    )


def _calls(calls: Sequence[ToolCall]) -> str:
    written = [{"name": call.name, "parameters": call.arguments} for call in calls]
    return to_json(written[0] if len(written) == 1 else written)


def _spans(text: str, at: int) -> Iterator[Span]:
    return last_spans(text, at, calls_of)


LLAMA3 = llama3(TODAY)
