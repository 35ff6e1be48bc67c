"""A plan: steps in order, each a tool with named arguments.

An argument's value is JSON. In its texts, `<node-k>.key` refers to the result `key` of the step at
place k, counted from 0, and `<node-k>` to all of its result. A reference that leads to no earlier
step is `<node-?>`.
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
    """The text is not a plan; the message says what was found and what was expected."""


@dataclass(frozen=True)
class Reading:
    """The content of a reply.

    Attributes:
        plan: empty if the reply has none that can be read.
        problem: why it could not be read, or None.
    """

    plan: Plan
    problem: str | None = None


def tools_of(plan: Plan) -> tuple[str, ...]:
    """The tools in the order of their calls."""
    return tuple(step.name for step in plan)


def comparable(value: JsonValue) -> str:
    """The value as it is compared: as text in lower case, so that 5 is "5"."""
    if not isinstance(value, str):
        value = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return value.lower()
