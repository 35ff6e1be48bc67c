"""Calls as Llama 3 writes them, with the words of Meta's prompts, also in LLaMA-Factory.

{"name": "search", "parameters": {"query": "x"}}

A call has no mark of its own: `json_calls` decides which text may be one. The prompt does not name
the day, because the model's own chat template does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.tool_formats.hermes import as_function
from dataenvgym.records.tool_formats.json_calls import bare_fault, calls_of, last_spans
from dataenvgym.records.tool_formats.json_objects import to_json
from dataenvgym.records.tool_formats.llama_factory import join_results
from dataenvgym.records.tool_formats.text import Span, TextFormat

_TOOLS = """\
You have access to the following functions. To call a function, please respond with JSON for a \
function call. Respond in the format {"name": function name, "parameters": dictionary of argument \
name and its value}. Do not use variables.

"""
_to_json = json.JSONEncoder(ensure_ascii=False, indent=4).encode


def _tools(tools: Sequence[Tool]) -> str:
    return _TOOLS + "".join(f"{_to_json(as_function(tool))}\n\n" for tool in tools)


def _calls(calls: Sequence[ToolCall]) -> str:
    written = [{"name": call.name, "parameters": call.arguments} for call in calls]
    return to_json(written[0] if len(written) == 1 else written)


def _spans(text: str, at: int) -> Iterator[Span]:
    return last_spans(text, at, calls_of)


LLAMA3 = TextFormat(
    _tools, _calls, join_results, _spans, marks=('"name"',), is_bare=True, fault=bare_fault
)
