"""Calls as Mistral's models write them, with the words of LLaMA-Factory's `mistral_small`.

[TOOL_CALLS][{"name": "search", "arguments": {"query": "x"}}]

Newer models write each call by itself, as a name and arguments behind which no text follows:

[TOOL_CALLS]search[ARGS]{"query": "x"}

The tokenizers have special tokens for the marks. A server or tokenizer may remove those from a
reply; a remaining list is then parsed by `json_calls`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.tool_formats.hermes import as_function
from dataenvgym.records.tool_formats.json_calls import calls_of
from dataenvgym.records.tool_formats.json_faults import fault_at, shown
from dataenvgym.records.tool_formats.json_objects import read_value, to_json
from dataenvgym.records.tool_formats.llama_factory import join_results
from dataenvgym.records.tool_formats.text import Span, TextFormat

MARK, _ARGS = "[TOOL_CALLS]", "[ARGS]"
_NAME = r"[\w.:/-]++"
_NAMED = rf"({_NAME})(?:\[CALL_ID\]\w*+)?+"
_OPEN = re.compile(
    rf"(?:\[TOOL_CALLS\]\s*+(?:{_NAMED}(?:\[ARGS\])?+\s*+(?=\{{))?+"
    rf"|(?<![\w.:/-]){_NAMED}\[ARGS\]\s*+(?=\{{))"
)
_NEXT = re.compile(rf"\s*+(?:\Z|\[TOOL_CALLS\]|{_NAMED}\[ARGS\])")


def _tools(tools: Sequence[Tool]) -> str:
    return f"[AVAILABLE_TOOLS] {to_json([as_function(tool) for tool in tools])}[/AVAILABLE_TOOLS]"


def _calls(calls: Sequence[ToolCall]) -> str:
    return MARK + to_json([{"name": call.name, "arguments": call.arguments} for call in calls])


def _results(results: Sequence[str]) -> str:
    return f'[TOOL_RESULTS]{{"content": {join_results(results)}}}[/TOOL_RESULTS]'


def _spans(text: str, at: int) -> Iterator[Span]:
    while opening := _OPEN.search(text, at):
        at, name = opening.end(), opening[1] or opening[2]
        found = read_value(text, at)
        if found is None or (name and not _NEXT.match(text, found[1])):
            continue
        value, end = found
        named = {"name": name, "arguments": value} if name else value
        if calls := calls_of(named, is_marked=True):
            at = end
            yield opening.start(), at, calls[0]
            for call in calls[1:]:
                yield at, at, call


def _fault(text: str, at: int) -> str | None:
    if not (opening := _OPEN.search(text, at)):
        return None
    if not (name := opening[1] or opening[2]):
        return fault_at(text, opening.end(), MARK, several=True)
    fault = fault_at(text, opening.end(), _ARGS, arguments=True)
    return fault or f"text follows the arguments of {shown(name)}, which must come last"


MISTRAL = TextFormat(_tools, _calls, _results, _spans, marks=(MARK, _ARGS), fault=_fault)
