"""Calls in a few words, for the pocket students; as JSON, most of their messages would be syntax.

##carry item tea place mill
##pack items tea, rice
##ring hours 3, 9

Tools are declared by their names, and results begin with `=`. A value is a word, a number, `true`,
`false`, `null`, or several of them separated by commas; anything else is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from dataenvgym.records.conversations import Tool, ToolCall
from dataenvgym.records.tool_formats.json_calls import Span, shown
from dataenvgym.records.tool_formats.text import TextFormat

_WORD = r"[^\W\d][\w.\-]*+"
_NUMBER = r"-?\d[\d.eE+\-]*+"
_NAME = re.compile(rf'{_WORD}|(?=")')
_PLAIN = re.compile(rf"{_WORD}|{_NUMBER}")
_OPEN = re.compile(r"(?<!#)##(?!#)")
_ALONE = re.compile(r'##["a-z_]')
_END = re.compile(r" *+(?:\n|$)")
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_to_json = json.JSONEncoder(ensure_ascii=False).encode
_json = json.JSONDecoder(strict=False)


def _tools(tools: Sequence[Tool]) -> str:
    return "".join(f" {_name(tool.name)}" for tool in tools)


def _calls(calls: Sequence[ToolCall]) -> str:
    return "\n".join(
        " ".join([f"##{_name(call.name)}", *_written(call.arguments)]) for call in calls
    )


def _results(results: Sequence[str]) -> str:
    return "\n".join(f"= {result}" for result in results)


def _written(arguments: dict[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        yield _name(name)
        several = isinstance(value, list) and len(value) > 1
        yield ", ".join(map(_value, value)) if several else _value(value)


def _name(name: str) -> str:
    return name if re.fullmatch(_WORD, name) else _to_json(name)


def _value(value: Any) -> str:
    is_word = isinstance(value, str) and value not in _CONSTANTS
    return _name(value) if is_word else _to_json(value)


# --- parsing: line by line, so that no part of a text is scanned twice ----------------------------


def _spans(text: str, at: int) -> Iterator[Span]:
    while opening := _OPEN.search(text, at):
        line = text.find("\n", opening.end())
        at = len(text) if line < 0 else line
        if call := _call(text[opening.end() : at]):
            yield opening.start(), at, call


def _call(line: str) -> ToolCall | None:
    """The call in a line, after its `##`, or None."""
    try:
        name, at = _read_name(line, 0)
        arguments: dict[str, Any] = {}
        while not _END.match(line, at):
            key, at = _read_name(line, _after(" ", line, at))
            value, at = _read_value(line, _after(" ", line, at))
            if line.startswith(", ", at):
                value = [value]
                while line.startswith(", ", at):
                    item, at = _read_value(line, at + 2)
                    value.append(item)
            arguments[key] = value
        return ToolCall(name=name, arguments=arguments)
    except (ValueError, RecursionError, ValidationError):
        return None


def _after(separator: str, line: str, at: int) -> int:
    if not line.startswith(separator, at):
        raise ValueError(at)
    return at + len(separator)


def _read_name(line: str, at: int) -> tuple[str, int]:
    if (found := _NAME.match(line, at)) is None:
        raise ValueError(at)
    return (found[0], found.end()) if found[0] else _json.raw_decode(line, at)


def _read_value(line: str, at: int) -> tuple[Any, int]:
    found = _PLAIN.match(line, at)
    if found is None:
        return _json.raw_decode(line, at)
    if found[0][0] in "-0123456789":
        return json.loads(found[0]), found.end()
    return _CONSTANTS.get(found[0], found[0]), found.end()


def _fault(text: str, at: int) -> str | None:
    """The fault of a reply that consists of one line with a malformed call."""
    line = text[at:].strip()
    if "\n" in line or not _ALONE.match(line) or _call(line[2:]):
        return None
    return f'"{shown(line)}" is not a call: write ##tool, then each argument as its name and value'


POCKET = TextFormat(_tools, _calls, _results, _spans, ("##",), is_bare=True, fault=_fault)
