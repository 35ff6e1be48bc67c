"""Calls as Mistral's models write them, with the words of LLaMA-Factory's `mistral_small`.

[TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]

The tokenizers have special tokens for the marks. A server or tokenizer may remove those from a
reply; the remaining list is then parsed by `json_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dataenvgym.records import Tool, ToolCall
from dataenvgym.tool_formats.hermes import as_function
from dataenvgym.tool_formats.json_calls import calls_of
from dataenvgym.tool_formats.json_faults import fault_at
from dataenvgym.tool_formats.json_objects import read_value, to_json
from dataenvgym.tool_formats.llama_factory import join_results
from dataenvgym.tool_formats.text import Span, TextFormat

MARK = "[TOOL_CALLS]"
_OPEN = re.compile(r"\[TOOL_CALLS\]\s*+")


def _tools(tools: Sequence[Tool]) -> str:
    return f"[AVAILABLE_TOOLS] {to_json([as_function(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _calls(calls: Sequence[ToolCall]) -> str:
    return MARK + to_json([{"name": call.name, "arguments": call.arguments} for call in calls])


def _results(results: Sequence[str]) -> str:
    return f'[TOOL_RESULTS]{{"content": {join_results(results)}}}[/TOOL_RESULTS]'


def _spans(text: str, at: int) -> Iterator[Span]:
    while opening := _OPEN.search(text, at):
        at = opening.end()
        found = read_value(text, at)
        if found and (calls := calls_of(found[0])):
            at = found[1]
            yield opening.start(), at, calls[0]
            for call in calls[1:]:
                yield at, at, call


def _fault(text: str, at: int) -> str | None:
    opening = _OPEN.search(text, at)
    return fault_at(text, opening.end(), MARK, several=True) if opening else None


MISTRAL = TextFormat(_tools, _calls, _results, _spans, marks=(MARK,), fault=_fault)
