"""Calls as JSON between tags, with the words of Qwen's chat template, also in LLaMA-Factory.

<tool_call>
{"name": "search", "arguments": {"query": "x"}}
</tool_call>

A list of such objects, as SmolLM2 writes it, is several calls, and a call without arguments may
leave them out. At the end of a text, or before the next call, the closing tag may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats.json_calls import calls_of
from dataenvgym.records.tool_formats.json_faults import fault_at
from dataenvgym.records.tool_formats.json_objects import read_value, to_json
from dataenvgym.records.tool_formats.text import Span, TextFormat

MARK, _END = "<tool_call>", "</tool_call>"
_OPEN = re.compile(r"<tool_call>\s*+")
_CLOSE = re.compile(r"\s*+(?:</tool_call>|\Z|(?=<tool_call>))")

_TOOLS = """\


# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>{tools}
</tools>

For each function call, return a json object with function name and arguments within \
<tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""


def calls_text(calls: Iterable[tuple[str, Any]]) -> str:
    """Calls as text.

    Args:
        calls: the name and the arguments of each. Arguments that are not an object, because the
            model's JSON was malformed, are written too; no parser accepts them as a call.
    """
    return "\n".join(
        f"<tool_call>\n{to_json({'name': name, 'arguments': arguments})}\n</tool_call>"
        for name, arguments in calls
    )


def as_function(tool: Tool) -> dict[str, Any]:
    """The tool in OpenAI's form."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def _tools(tools: Sequence[Tool]) -> str:
    return _TOOLS.format(tools="".join(f"\n{to_json(as_function(tool))}" for tool in tools))


def _calls(calls: Sequence[ToolCall]) -> str:
    return calls_text((call.name, call.arguments) for call in calls)


def _results(results: Sequence[str]) -> str:
    return "\n".join(f"<tool_response>\n{result}\n</tool_response>" for result in results)


def _spans(text: str, at: int) -> Iterator[Span]:
    while opening := _OPEN.search(text, at):
        at = opening.end()
        found = read_value(text, at)
        closing = _CLOSE.match(text, found[1]) if found else None
        if found and closing and (calls := calls_of(found[0], is_marked=True)):
            at = closing.end()
            yield opening.start(), at, calls[0]
            yield from ((at, at, call) for call in calls[1:])


def _fault(text: str, at: int) -> str | None:
    opening = _OPEN.search(text, at)
    return fault_at(text, opening.end(), MARK, closing=_END, several=True) if opening else None


HERMES = TextFormat(_tools, _calls, _results, _spans, marks=(MARK,), fault=_fault, between="\n")


def as_reply(message: Message) -> str:
    """The assistant's message as text that parses back to this message."""
    return HERMES.written(message).content
