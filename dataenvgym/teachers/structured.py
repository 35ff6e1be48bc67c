"""Structured output: asks a language model for JSON and checks the answers.

    ask_json(teacher, conversations, schema, ...) -> a value or None for each conversation

The schema is sent with the request, so that a server can enforce it if it is able to. Each reply is
repaired (`repair`), brought into shape if its meaning is clear (one item instead of a list), and
checked against the schema; it becomes None if it cannot be used. A teacher that has
`count_malformed(n)` gets the number of unusable answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import JsonValue

from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TeacherInterface
from dataenvgym.records import Conversation
from dataenvgym.teachers.budget import count_malformed
from dataenvgym.teachers.repair import json_in

Schema = dict[str, JsonValue]
TEXT: Schema = {"type": "string"}


def object_of(**fields: Schema) -> Schema:
    """The schema of an object with exactly these fields."""
    return {
        "type": "object",
        "properties": {**fields},
        "required": [*fields],
        "additionalProperties": False,
    }


def list_of(item: Schema, **limits: int) -> Schema:
    """The schema of a list; `limits` are `minItems` and `maxItems`."""
    return {"type": "array", "items": item, **limits}


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
        schema: see `fits`. Servers in strict mode require
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
    return next((value for value in values if fits(value, schema)), None)


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


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """True if a value fits a JSON schema (draft 2020-12).

    Properties that the schema does not name are allowed, also where it forbids them: servers in
    strict mode require `additionalProperties: false`. 1.0 is not an integer.
    """
    return bool(_validator()(schema).is_valid(value))


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator as Draft
    from jsonschema.validators import extend

    types = Draft.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    return extend(Draft, {"additionalProperties": lambda *_: ()}, type_checker=types)
