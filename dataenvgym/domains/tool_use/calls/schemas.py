"""JSON schemas of arguments: converts BFCL's types, and checks whether a call obeys a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataenvgym.records import Tool, ToolCall

_JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
"""BFCL's own names of types; it reads "any" as a string, too."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def json_schema(declared: Mapping[str, Any]) -> dict[str, Any]:
    """BFCL's declaration of a type as a JSON schema.

    Raises:
        ValueError: for a type that is neither JSON's nor BFCL's for Python, naming the place.
    """
    schema = {name: value for name, value in declared.items() if name != "optional"}
    given = schema.get("type")
    schema["type"] = _JSON_TYPES.get(str(given), given)
    if not isinstance(given, str) or schema["type"] not in _TYPES:
        raise ValueError(f"type is {given!r}, expected {', '.join([*_TYPES, *_JSON_TYPES])}")
    if "items" in schema:
        schema["items"] = _inner(schema["items"], "items")
    if "properties" in schema:
        if not isinstance(schema["properties"], dict):
            raise ValueError(f"properties is {schema['properties']!r}, expected an object")
        schema["properties"] = {
            name: _inner(value, f"properties.{name}")
            for name, value in schema["properties"].items()
        }
    return schema


def _inner(declared: Any, where: str) -> dict[str, Any]:
    if not isinstance(declared, dict):
        raise ValueError(f"{where} is {declared!r}, expected an object")
    try:
        return json_schema(declared)
    except ValueError as error:
        raise ValueError(f"{where}.{error}") from None


def argument_error(call: ToolCall, tool: Tool) -> str | None:
    """Why the tool does not accept the arguments of a call; None if it does.

    Names, required arguments and their types are checked, but not the contents of containers.
    """
    properties = tool.parameters.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = tool.parameters.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in call.arguments:
            return f"{call.name} lacks the required argument {name!r}"
    for name, value in call.arguments.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            return f"{call.name} has no argument {name!r}; its arguments: {known}"
        schema = properties[name]
        declared = schema.get("type") if isinstance(schema, dict) else None
        types = _TYPES.get(declared) if isinstance(declared, str) else None
        if types is not None and type(value) not in types:
            return f"argument {name!r} of {call.name} is {value!r:.80}, expected {declared}"
    return None
