"""Calls that are JSON without any mark around it, in the many forms that models write.

{"name": "search", "arguments": {"query": "x"}}      also "parameters", as Llama 3 has it
[{"name": ...}, {"name": ...}]                       several, also one after another
{"type": "function", "function": {"name": ..., "arguments": "{}"}}       OpenAI's
{"role": "assistant", "content": null, "tool_calls": [{"function": ...}]}    its message

An answer may contain such JSON, too. It counts as a call only at the end of a text, with or without
a ```json fence, and only if it has no other fields than a call. `read_reply` also requires the name
of a declared tool.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataenvgym.records import ToolCall
from dataenvgym.records.tool_formats.json_faults import call_fault, fault_at
from dataenvgym.records.tool_formats.json_objects import parsed_arguments, read_value, tokens_end
from dataenvgym.records.tool_formats.text import Span

_KEYS = {"name", "arguments", "parameters", "id", "type", "index"}
_WRAPPER_KEYS = {"function", "id", "type", "index"}
_OPEN = re.compile(
    r"(Action Input:\s*+)?+"  # then it is the input of another format's call
    r"(?:<\|python_tag\|>\s*+)?+(?:```(?:json)?\s*+)?+"
    r'((?:\[\s{0,99}+)?+\{\s{0,99}+"(?:name|tool_calls|type|function|id|role|content'
    r'|arguments|parameters)"\s{0,9}+:)'
)
_FIRST = re.compile(
    r"\s*+(?:<\|python_tag\|>\s*+)?+(?:```(?:json)?\s*+)?+"
    r'(?=(?:\[\s{0,99}+)?+\{\s{0,99}+"(?:name|tool_calls|type|function)"\s{0,9}+:)'
)
_ARGUMENTS = re.compile(r'"(?:arguments|parameters|tool_calls)"\s{0,9}+:')
_BETWEEN = re.compile(r"\s*+(?:```)?+[\s,;]*+")
_LAST = ("}", "]", "```")


def last_spans(text: str, at: int, read: Callable[[Any], Sequence[ToolCall]]) -> Iterator[Span]:
    """The calls at the end of the text; empty if it ends otherwise.

    Args:
        read: parses a value as calls; returns none if it is something else.
    """
    if not text.rstrip().endswith(_LAST):
        return
    spans: list[Span] = []
    while opening := _OPEN.search(text, at):
        start, found = opening.start(), read_value(text, opening.start(2))
        calls = read(found[0]) if found and not opening[1] else ()
        if spans and start != spans[-1][1]:
            spans.clear()
        if found is None or not calls:
            spans.clear()
            at = found[1] if found else max(tokens_end(text, opening.start(2))[0], start + 1)
            continue
        closing = _BETWEEN.match(text, found[1])
        at = closing.end() if closing else found[1]
        spans += [(start, at, calls[0]), *((at, at, call) for call in calls[1:])]
    if spans and spans[-1][1] == len(text):
        yield from spans


def calls_of(value: Any, *, is_marked: bool = False) -> list[ToolCall]:
    """The calls in an object, or in a list of such objects; none if it is not a call.

    Args:
        is_marked: the text around it says that it is a call. Then an object may have other fields,
            and a call without arguments may leave them out.
    """
    calls = [_call(one, is_marked) for one in (value if isinstance(value, list) else [value])]
    return [] if None in calls else [call for call in calls if call is not None]


def listed_calls(value: Any) -> list[ToolCall]:
    """The calls in a message of OpenAI's, `{"tool_calls": [...]}`."""
    listed = value.get("tool_calls") if isinstance(value, dict) else None
    return calls_of(listed) if isinstance(listed, list) else []


def bare_fault(text: str, at: int) -> str | None:
    """The fault of a text that begins like a call, has arguments, and cannot be parsed."""
    first = _FIRST.match(text, at) or _FIRST.match(text, max(text.find("```", at), at))
    if not first or not _ARGUMENTS.search(text, first.end()):
        return None
    if not (found := read_value(text, first.end())):
        return fault_at(text, first.end(), "the text", several=True)
    value, end = found
    if calls_of(value) or listed_calls(value):
        has_more = text[end:].strip("` \t\r\n")
        return "text follows the JSON of the call, which must come last" if has_more else None
    listed = value.get("tool_calls", value) if isinstance(value, dict) else value
    unwrapped = list(map(_unwrap, listed if isinstance(listed, list) else [listed]))
    is_call = all(isinstance(one, dict) and one.keys() <= _KEYS for one in unwrapped)
    return call_fault(unwrapped) if is_call else None


def _unwrap(value: Any) -> Any:
    is_wrapper = isinstance(value, dict) and "function" in value and value.keys() <= _WRAPPER_KEYS
    return value["function"] if is_wrapper else value


def _call(value: Any, is_marked: bool) -> ToolCall | None:
    value = _unwrap(value)
    if not isinstance(value, dict) or not (is_marked or value.keys() <= _KEYS):
        return None
    given = [value[name] for name in ("arguments", "parameters") if name in value]
    name: Any = value.get("name")
    if len(given) != 1 and not is_marked:
        return None
    try:
        return ToolCall(name=name, arguments=parsed_arguments(given[0] if given else None))
    except (ValueError, RecursionError):  # pydantic's is a ValueError
        return None
