"""The format that LLaMA-Factory 0.9.5 uses with the student's own chat template.

Action: search
Action Input: {"query": "x"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from dataenvgym.records.conversations import Tool, ToolCall
from dataenvgym.records.tool_formats.json_calls import Span, fault_at, read_value, shown, to_json
from dataenvgym.records.tool_formats.text import TextFormat

_NAME, _INPUT = "Action:", "Action Input:"
# the prompt shows an input between such marks, and students repeat them
_OPEN = re.compile(r"\s*+(?:```(?:json)?\s*+)?")
_CLOSE = re.compile(r"(?:\s*+```)?")
# between both marks, this is a call in another format whose value has the second one
_OTHER = re.compile(r'\{"|##|\[TOOL_CALLS\]')
# a tool's name in lower case at the end: an answer may say "Action: Refunded"
_LONE = re.compile(r"(?:^|\n)Action: *+([a-z_][\w.-]*+)\s*+\Z")

_TOOLS = """\
You have access to the following tools:
{tools}Use the following format if using a tool:
```
Action: tool name (one of [{names}])
Action Input: the input to the tool, in a JSON format representing the kwargs \
(e.g. ```{{"input": "hello world", "num_beams": 5}}```)
```
"""


def _tools(tools: Sequence[Tool]) -> str:
    listed = "".join(
        f"> Tool Name: {tool.name}\n"
        f"Tool Description: {tool.description}\n"
        f"Tool Args:\n{''.join(_parameters(tool.parameters))}\n"
        for tool in tools
    )
    return _TOOLS.format(tools=listed, names=", ".join(tool.name for tool in tools))


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, value in _object(schema.get("properties")).items():
        parameter = _object(value)
        required = ", required" if name in _list(schema.get("required")) else ""
        line = f"  - {name} ({parameter.get('type', '')}{required}): "
        line += f"{parameter.get('description', '')}"
        if choices := _list(parameter.get("enum")):
            line += f", should be one of [{', '.join(map(str, choices))}]"
        if items := _object(parameter.get("items")):
            line += f", where each item should be {items.get('type', '')}"
        yield f"{line}\n"


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(f"{_NAME} {call.name}\n{_INPUT} {to_json(call.arguments)}" for call in calls)


def join_results(results: Sequence[str]) -> str:
    """Consecutive results, joined as LLaMA-Factory joins them in every format."""
    return "\n</tool_response>\n<tool_response>\n".join(results)


def _spans(text: str, at: int) -> Iterator[Span]:
    while (marker := text.find(_INPUT, at)) >= 0:
        start, after = text.rfind(_NAME, at, marker), marker + len(_INPUT)
        at = after
        opening = _OPEN.match(text, after)
        found = read_value(text, opening.end(), "{") if opening and start >= 0 else None
        if found and (call := _call(text[start + len(_NAME) : marker], found[0])):
            closing = _CLOSE.match(text, found[1])
            at = closing.end() if closing else found[1]
            yield start, at, call


def _fault(text: str, at: int) -> str | None:
    marker = text.find(_INPUT, at)
    if marker < 0:
        lone = _LONE.search(text, at)
        return f'"{_NAME} {shown(lone[1])}" has no "{_INPUT}" behind it' if lone else None
    start = text.rfind(_NAME, at, marker)
    name = text[start + len(_NAME) : marker].strip() if start >= 0 else ""
    if not name:
        return f'"{_INPUT}" has no "{_NAME}" with the name of a tool before it'
    if "\n" in name:
        return f'the name of the tool after "{_NAME}" is not in one line'
    opening = _OPEN.match(text, marker + len(_INPUT))
    return fault_at(text, opening.end() if opening else marker, _INPUT, arguments=True)


def _call(name: str, arguments: dict[str, Any]) -> ToolCall | None:
    name = name.strip()
    if "\n" in name or _OTHER.search(name):
        return None
    try:
        return ToolCall(name=name, arguments=arguments)
    except ValidationError:
        return None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


LLAMA_FACTORY = TextFormat(
    _tools, _calls, join_results, _spans, marks=(_NAME, _INPUT), fault=_fault
)
