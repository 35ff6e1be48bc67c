"""Structured output: asks a language model for JSON and checks the answers.

    ask_json(teacher, conversations, schema, ...) -> a value or None for each conversation

The schema is sent with the request, so that a server can enforce it if it is able to. Each reply is
repaired (`repair`), brought into shape if its meaning is clear (one item instead of a list), and
checked against the schema; it becomes None if it cannot be used. A teacher that has
`count_malformed(n)` gets the number of unusable answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TeacherInterface
from dataenvgym.llm.repair import json_in
from dataenvgym.llm.usage import count_malformed
from dataenvgym.records import Conversation

Schema = dict[str, JsonValue]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_STRUCTURE = {"type", "enum", "anyOf", "properties", "required", "additionalProperties", "items"}
_BOUNDS = {"minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum"}
_KNOWN = _STRUCTURE | _BOUNDS | {"title", "description"}


def ask_json(
    teacher: TeacherInterface,
    conversations: Sequence[Conversation],
    schema: Schema,
    sampling: SamplingParameters,
    *,
    purpose: str,
) -> list[Any | None]:
    """The teacher's answer to each conversation, as JSON that fits `schema`.

    None means that the call failed or that the answer cannot be used.

    Args:
        schema: see `problem_with` for the keywords that are checked. Servers in strict mode require
            that `required` names all properties, and `additionalProperties: false`.
        purpose: see `TeacherInterface.ask`.

    Raises:
        BudgetSpentError: if the budget allows no question at all.
    """
    replies = teacher.ask(
        conversations, sampling.model_copy(update={"json_schema": schema}), purpose=purpose
    )
    found = [
        None if isinstance(reply, Failure) else parse_reply(reply, schema) for reply in replies
    ]
    malformed = sum(isinstance(r, Reply) and f is None for r, f in zip(replies, found, strict=True))
    count_malformed(teacher, malformed)
    return found


def parse_reply(reply: Reply, schema: Schema) -> Any | None:
    """The first JSON in a reply, repaired, that fits `schema`; None if there is none."""
    values = (shaped(value, schema) for value in json_in(reply.text))
    return next((value for value in values if problem_with(value, schema) is None), None)


def shaped(value: Any, schema: Schema) -> Any:
    """`value` in the shape of `schema`, if that is an object with one list and `value` is close.

    A list alone becomes the object. One item instead of the list, or of the object, becomes a list
    with one item.
    """
    properties = schema.get("properties")
    if not isinstance(properties, dict) or len(properties) != 1:
        return value
    ((name, inner),) = properties.items()
    if not isinstance(inner, dict) or inner.get("type") != "array":
        return value
    if isinstance(value, list):
        return {name: value}
    if isinstance(value, dict) and name not in value:
        return {name: [value]}
    if isinstance(value, dict) and isinstance(value[name], dict):
        return {name: [value[name]]}
    return value


def problem_with(value: Any, schema: Mapping[str, Any]) -> str | None:
    """Why `value` does not fit `schema`, or None if it does.

    Checked are type, enum, anyOf, properties, required, items, the lengths and the bounds.
    Properties that the schema does not name are allowed.

    Raises:
        ConfigurationError: for a schema with other keywords.
    """
    if unknown := schema.keys() - _KNOWN:
        raise ConfigurationError(
            f"the schema has {sorted(unknown)[0]!r}, which is not checked here; it can have: "
            f"{', '.join(sorted(_KNOWN))}"
        )
    if "anyOf" in schema and all(problem_with(value, option) for option in schema["anyOf"]):
        return f"{shorten(repr(value))} fits none of the {len(schema['anyOf'])} forms"
    if "type" in schema and not _is_of_type(value, schema["type"]):
        return f"{shorten(repr(value))} is not of type {schema['type']}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{shorten(repr(value))} is none of {schema['enum']}"
    if isinstance(value, dict):
        return _problem_with_object(value, schema)
    if isinstance(value, list):
        return _problem_with_array(value, schema)
    return _problem_with_bounds(value, schema)


def _problem_with_object(value: dict[str, Any], schema: Mapping[str, Any]) -> str | None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"there is no {name!r}"
    for name in properties.keys() & value.keys():
        if problem := problem_with(value[name], properties[name]):
            return f"{name}: {problem}"
    return None


def _problem_with_array(value: list[Any], schema: Mapping[str, Any]) -> str | None:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"there are {len(value)} items"
    for i, item in enumerate(value):
        if problem := problem_with(item, schema.get("items", {})):
            return f"{i}: {problem}"
    return None


def _problem_with_bounds(value: Any, schema: Mapping[str, Any]) -> str | None:
    if isinstance(value, str):
        low, high = schema.get("minLength", 0), schema.get("maxLength", len(value))
        return None if low <= len(value) <= high else f"it has {len(value)} characters"
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        return None if low <= value <= high else f"{value} is out of bounds"
    return None


def _is_of_type(value: Any, names: str | Sequence[str]) -> bool:
    for name in [names] if isinstance(names, str) else names:
        if isinstance(value, bool) and name != "boolean":
            continue
        if isinstance(value, _TYPES[name]):
            return True
    return False
