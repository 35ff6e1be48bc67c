"""A plan: steps in order, each a tool with named arguments.

An argument's value is JSON. In its texts, `<node-k>.key` refers to the result `key` of the step at
place k, counted from 0, and `<node-k>` to its whole result. An invalid reference is `<node-?>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import JsonValue

REFERENCE = re.compile(r"<node-(?P<id>[0-9]{1,9})>(?:\.(?P<key>[A-Za-z0-9_]+))?")
NOWHERE = "<node-?>"


@dataclass(frozen=True)
class Step:
    """One call of a tool."""

    name: str
    args: Mapping[str, JsonValue]


Plan = tuple[Step, ...]


class PlanError(ValueError):
    """The text is not a plan; the message has the value found and the one expected."""


@dataclass(frozen=True)
class Reading:
    """The result of parsing a reply.

    Attributes:
        plan: empty if the reply has no valid plan.
        problem: why it could not be parsed, or None.
    """

    plan: Plan
    problem: str | None = None


def tools_of(plan: Plan) -> tuple[str, ...]:
    """The tools in the order of their calls."""
    return tuple(step.name for step in plan)


def comparable(value: JsonValue) -> str:
    """The value as text in lower case, for comparisons: 5 is "5"."""
    if not isinstance(value, str):
        value = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return value.lower()
