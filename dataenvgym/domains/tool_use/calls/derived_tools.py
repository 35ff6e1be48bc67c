"""Derives descriptions of tools from calls of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dataenvgym.domains.tool_use.calls.search import spaced
from dataenvgym.domains.tool_use.values import KINDS
from dataenvgym.records import Tool
from dataenvgym.records.model import Json

_FORMS = {
    "YYYY-MM-DD HH:MM:SS": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
    "YYYY-MM-DD": re.compile(r"\d{4}-\d\d-\d\d"),
    "MM-DD": re.compile(r"\d\d-\d\d"),
}


def derived_tools(calls: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[Tool, ...]:
    """A tool for each name, with the arguments of its calls.

    An argument that all calls have is required. If its values have a common type, that is its type;
    if all are dates of one format, that is its description.

    Args:
        calls: the arguments of each call, by the tool's name.
    """
    return tuple(_tool(name, calls[name]) for name in sorted(calls))


def _tool(name: str, calls: Sequence[Mapping[str, Any]]) -> Tool:
    names = list(dict.fromkeys(argument for call in calls for argument in call))
    values = {n: [call[n] for call in calls if n in call] for n in names}
    required: list[Json] = [n for n in names if len(values[n]) == len(calls)]
    first, *others = spaced(name).split()
    described = " ".join([first.capitalize(), *(word.lower() for word in others)])
    return Tool(
        name=name,
        description=f"{described}.",
        parameters={
            "type": "object",
            "properties": {n: _schema(values[n]) for n in names},
            "required": required,
        },
    )


def _schema(values: Sequence[Any]) -> dict[str, Json]:
    schema: dict[str, Json] = {}
    types = {KINDS.get(type(value)) for value in values}
    if types == {"integer", "number"}:
        types = {"number"}
    if len(types) == 1 and (only := types.pop()) not in (None, "null"):
        schema["type"] = only
        items = [item for value in values if isinstance(value, list) for item in value]
        if only == "array" and items:
            schema["items"] = _schema(items)
        if only == "object":
            fields = dict.fromkeys(name for value in values for name in value)
            schema["properties"] = {
                name: _schema([value[name] for value in values if name in value]) for name in fields
            }
    texts = all(isinstance(value, str) for value in values)
    for form, pattern in _FORMS.items():
        if texts and all(pattern.fullmatch(value) for value in values):
            schema["description"] = f"In the form {form}."
    return schema
