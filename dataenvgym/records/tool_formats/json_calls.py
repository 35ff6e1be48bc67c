"""JSON in the text of a model, and which of it is a call.

Between the marks of a format, a call is an object with `name` and `arguments`, or a list of them.
Models also write calls without any mark, in many forms:

{"name": "search", "arguments": {"query": "x"}}      also "parameters", as Llama 3 has it
[{"name": ...}, {"name": ...}]                       several, also one after another
{"type": "function", "function": {"name": ..., "arguments": "{}"}}       OpenAI's
{"role": "assistant", "content": null, "tool_calls": [{"function": ...}]}    its message

An answer may contain such JSON, too. It counts as a call only at the end of a text, with or without
a ```json fence, and only if it has no other fields than a call. `read_reply` also requires the name
of a declared tool. What is wrong with a call is one sentence of at most 200 characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from dataenvgym.errors import shorten
from dataenvgym.records.conversations import ToolCall

# The order of tokens inside an object is left to the parser. A character that begins no token ends
# the search, such as a letter of the marker before the next object. So no part of a text is scanned
# more than twice, however many markers there are.
_TOKEN = re.compile(
    r'[\s,:]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|true|false|null|-?\d[\d.eE+-]*+', re.DOTALL
)
_SHORT = 10_000
"""Texts up to this length are parsed without first searching for the object's end. An error costs
the parser as many steps as there are characters before it, so longer texts are searched first."""
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

Span = tuple[int, int, ToolCall]
"""The beginning and end of a call in a text, and the call."""

to_json = json.JSONEncoder(ensure_ascii=False).encode
"""JSON in the form of LLaMA-Factory and chat templates."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# strings may contain raw line breaks and other control characters
_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse)


def read_value(text: str, start: int, opening: str = "{[") -> tuple[Any, int] | None:
    """The object or list that begins at `start`, and its end; None if there is none.

    Args:
        opening: "{" for an object only.
    """
    if not text.startswith(tuple(opening), start):
        return None
    try:
        if len(text) <= _SHORT:
            return _DECODER.raw_decode(text, start)
        end, is_closed = tokens_end(text, start)
        return (_DECODER.decode(text[start:end]), end) if is_closed else None
    except (ValueError, RecursionError):
        return None


def tokens_end(text: str, start: int) -> tuple[int, bool]:
    """The end of the brackets opened at `start`, or of the valid JSON; and whether they close."""
    at, depth = start, 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] in "{[") - (token[0] in "}]")
        if not depth:
            return at, True
    return at, False


# --- calls ----------------------------------------------------------------------------------------


def calls_of(value: Any, *, is_marked: bool = False) -> list[ToolCall]:
    """The calls in an object, or in a list of such objects; none if it is not a call.

    Args:
        is_marked: the text around it says that it is a call. Then an object may have other fields,
            and a call without arguments may leave them out.
    """
    calls = [_call(one, is_marked) for one in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call] if all(calls) else []


def listed_calls(value: Any) -> list[ToolCall]:
    """The calls in a message of OpenAI's, `{"tool_calls": [...]}`."""
    listed = value.get("tool_calls") if isinstance(value, dict) else None
    return calls_of(listed) if isinstance(listed, list) else []


def spans_of(start: int, end: int, calls: Sequence[ToolCall]) -> Iterator[Span]:
    """All calls that are written between two positions; the text belongs to the first."""
    for call in calls:
        yield start, end, call
        start = end


def last_spans(text: str, at: int, read: Callable[[Any], Sequence[ToolCall]]) -> list[Span]:
    """The calls at the end of the text; empty if it ends otherwise.

    Args:
        read: parses a value as calls; returns none if it is something else.
    """
    spans: list[Span] = []
    if not text.rstrip().endswith(_LAST):
        return spans
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
        spans += spans_of(start, at, calls)
    return spans if spans and spans[-1][1] == len(text) else []


def _unwrap(value: Any) -> Any:
    is_wrapper = isinstance(value, dict) and "function" in value and value.keys() <= _WRAPPER_KEYS
    return value["function"] if is_wrapper else value


def _call(value: Any, is_marked: bool) -> ToolCall | None:
    value = _unwrap(value)
    if not isinstance(value, dict) or not (is_marked or value.keys() <= _KEYS):
        return None
    given = [value[name] for name in ("arguments", "parameters") if name in value]
    if len(given) != 1 and not is_marked:
        return None
    # Arguments may be JSON text, as in OpenAI's API. Models write null or empty text for a tool
    # without parameters.
    name: Any = value.get("name")
    arguments = given[0] if given else None
    try:
        if isinstance(arguments, str):
            arguments = _DECODER.decode(arguments) if arguments.strip() else None
        return ToolCall(name=name, arguments={} if arguments is None else arguments)
    except (ValueError, RecursionError):  # pydantic's is a ValueError
        return None


# --- faults ---------------------------------------------------------------------------------------


def fault_at(
    text: str,
    start: int,
    mark: str,
    *,
    closing: str = "",
    arguments: bool = False,
    several: bool = False,
) -> str | None:
    """The fault in the JSON of a call that begins at `start`; None if it can be parsed.

    Args:
        mark: the text before it.
        closing: the text that must follow it; "" for any.
        arguments: the JSON contains only the arguments.
        several: it may be a list of calls.
    """
    if not text.startswith(("{", "[") if several else "{", start):
        return f"no JSON {'object or list' if several else 'object'} follows {mark}"
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return _syntax(text, error, closing)
    except RecursionError:
        return "the JSON of the call is nested too deeply"
    except ValueError:
        return "the JSON of the call has a number that is too long, NaN or Infinity"
    if fault := _call_fault({"name": "f", "arguments": value} if arguments else value):
        return fault
    if closing and not text[end:].lstrip().startswith(closing):
        return f"{closing} is missing behind the JSON of the call"
    return None


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
    return _call_fault(unwrapped) if is_call else None


def _call_fault(value: Any) -> str | None:
    """Why an object, or one in a list of them, is not a call."""
    if isinstance(value, list):
        return next(filter(None, map(_call_fault, value)), None if value else "no call is in []")
    if not isinstance(value, dict):
        return "the JSON of the call is not an object"
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return 'the call has no "name" that is the name of a tool'
    given = value.get("arguments", value.get("parameters"))
    given = {} if given in (None, "") else given
    if not isinstance(given, dict):
        return f"the arguments of {shown(name)} are not a JSON object"
    try:
        ToolCall(name=name, arguments=given)
    except ValidationError as error:
        first = error.errors()[0]
        where, why = first["loc"], first["msg"].removeprefix("Value error, ")
        what = ".".join(map(str, where[1:])) or "name"
        return f"{shown(what)} in the call of {shown(name)}: {shown(why, 80)}"
    return None


def shown(text: str, most: int = 40) -> str:
    """The beginning of a text, in one line, with characters that every parser accepts."""
    return shorten(ascii(text[: most + 1])[1:-1], most)


def _syntax(text: str, error: json.JSONDecodeError, closing: str) -> str:
    is_cut = error.pos >= len(text) or error.msg.startswith("Unterminated string")
    if closing and text.startswith(closing, error.pos):
        is_cut = True
    what = "ends too early" if is_cut else "is malformed"
    why = "" if is_cut else f": {error.msg[:1].lower()}{error.msg[1:].strip(' :')}"
    return f"the JSON of the call {what} (line {error.lineno}, column {error.colno}){why}"
