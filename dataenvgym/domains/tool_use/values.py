"""Whether an argument's value is acceptable: compared as JSON, or leniently as in BFCL.

See `matching` for both sets of rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

OMITTED = ""
"""If it is among the acceptable values, the argument or field may be left out."""
KINDS: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
"""The names of JSON's types."""
_IGNORED = re.compile(r"[ ,./\-_*^]")
Compare = Callable[[Any, Any], bool]


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 5 and 5.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def is_acceptable_as_json(value: Any, values: Sequence[Any], *, listed: bool) -> bool:
    """Whether a value equals an acceptable one.

    Args:
        listed: whether objects there hold lists of acceptable values in their fields.
    """
    return _is_one_of(value, values, same_json, listed)


def is_acceptable_leniently(
    value: Any, values: Sequence[Any], schema: Mapping[str, Any], *, listed: bool
) -> bool:
    """Whether BFCL's checker accepts a value.

    If the acceptable values have another type than the schema declares, the value must equal one of
    them.

    Args:
        schema: the JSON schema of the argument; {} takes the type from the acceptable values.
        listed: whether objects there hold lists of acceptable values in their fields.
    """
    first = _kind_of_first(values)
    declared = schema.get("type")
    if not isinstance(declared, str):
        declared = first or "string"
    found = KINDS.get(type(value))
    if declared == "number" and found == "integer":
        found = "number"
    if found not in (declared, first):
        return False
    items = (schema.get("items") or {}).get("type") if found == declared == "array" else None
    if isinstance(items, str) and not any(_items_fit(value, a, items) for a in values):
        return False
    if found != declared or first not in (None, declared):
        return any(same_json(value, answer) for answer in values)
    return _is_one_of(value, values, _same_leniently, listed)


def _is_one_of(value: Any, values: Sequence[Any], same: Compare, listed: bool) -> bool:
    """Whether the value is one of these; objects, also in lists, are compared by field."""
    for answer in values:
        if isinstance(value, dict) and isinstance(answer, dict):
            if _fields_match(value, answer, same, listed):
                return True
        elif is_objects(value) and is_objects(answer):
            if len(value) == len(answer) and all(
                _fields_match(v, a, same, listed) for v, a in zip(value, answer, strict=True)
            ):
                return True
        elif same(value, answer):
            return True
    return False


def _fields_match(
    value: Mapping[str, Any], answer: Mapping[str, Any], same: Compare, listed: bool
) -> bool:
    same_field = _same_text if same is _same_leniently else same
    if not listed:
        return value.keys() == answer.keys() and all(same_field(value[n], answer[n]) for n in value)
    return value.keys() <= answer.keys() and all(
        any(same_field(value[name], a) for a in acceptable)
        if name in value
        else OMITTED in acceptable
        for name, acceptable in answer.items()
    )


def _same_leniently(value: Any, answer: Any) -> bool:
    """Whether strings, also directly in lists, are equal; an omitted list counts as empty."""
    if isinstance(value, list):
        answer = [] if answer == OMITTED else answer
        if not isinstance(answer, list) or len(value) != len(answer):
            return False
        return all(map(_same_text, value, answer))
    return _same_text(value, answer)


def _same_text(value: Any, answer: Any) -> bool:
    if isinstance(value, str) and isinstance(answer, str):
        return standardized(value) == standardized(answer)
    return same_json(value, answer)


def standardized(text: str) -> str:
    """The text in the form that BFCL compares."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _items_fit(value: Sequence[Any], answer: Any, declared: str) -> bool:
    if not isinstance(answer, list):
        return True
    kinds = (declared, _kind_of_first(answer))
    return all(KINDS.get(type(item)) in kinds for item in value)


def _kind_of_first(values: Sequence[Any]) -> str | None:
    return next((KINDS.get(type(value)) for value in values if value != OMITTED), None)


def is_objects(value: Any) -> bool:
    """Whether it is a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)
