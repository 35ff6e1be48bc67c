"""Short sentences about JSON that is not a valid call; at most 200 characters each."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from dataenvgym.errors import shorten
from dataenvgym.records import ToolCall
from dataenvgym.records.tool_formats.json_objects import parse_from

_SHOWN = 40


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
        value, end = parse_from(text, start)
    except json.JSONDecodeError as error:
        return _syntax(text, error, closing)
    except RecursionError:
        return "the JSON of the call is nested too deeply"
    except ValueError:
        return "the JSON of the call has a number that is too long, NaN or Infinity"
    if fault := call_fault({"name": "f", "arguments": value} if arguments else value):
        return fault
    if closing and not text[end:].lstrip().startswith(closing):
        return f"{closing} is missing behind the JSON of the call"
    return None


def call_fault(value: Any) -> str | None:
    """Why an object, or one in a list of them, is not a call."""
    if isinstance(value, list):
        return next(filter(None, map(call_fault, value)), None if value else "no call is in []")
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


def shown(text: str, most: int = _SHOWN) -> str:
    """The beginning of a text, in one line, with characters that every parser accepts."""
    return shorten(ascii(text[: most + 1])[1:-1], most)


def _syntax(text: str, error: json.JSONDecodeError, closing: str) -> str:
    is_cut = error.pos >= len(text) or error.msg.startswith("Unterminated string")
    if closing and text.startswith(closing, error.pos):
        is_cut = True
    what = "ends too early" if is_cut else "is malformed"
    why = "" if is_cut else f": {error.msg[:1].lower()}{error.msg[1:].strip(' :')}"
    return f"the JSON of the call {what} (line {error.lineno}, column {error.colno}){why}"
