"""A plan as JSON: `[{"id": 0, "name": "tool", "args": {...}}, ...]`.

In a reply, the list may have words or a code fence around it, or be the `nodes` or the `plan` of an
object. The last plan with steps counts; thoughts do not count (see `said_in`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dataenvgym.domains.tool_use.plans.plan import Form, Plan, PlanError, Reading, plan_of
from dataenvgym.records.tool_formats.json_calls import tokens_end
from dataenvgym.tasks.scoring.code.replies import texts_of

HOW_TO_WRITE = """\
Reply with the plan as a JSON list of steps, in the order in which they run:

[{"id": 0, "name": "TOOL", "args": {"ARGUMENT": "VALUE"}}, {"id": 1, "name": "TOOL", "args": {...}}]

A value is text. It refers to the result of an earlier step as <node-k>.NAME: <node-0>.text is the \
result `text` of the step with id 0. Use as few tools as possible."""

_OPENS = re.compile(r"[\[{]")


def read(reply: str) -> Reading:
    """Parse the plan in a reply, in time proportional to its length; raises nothing."""
    problem = "there is no JSON list of steps"
    has_empty = False
    for text in texts_of(reply):
        for value in reversed(list(_values(text))):
            in_object = isinstance(value, dict)
            try:
                plan = plan_of(value.get("nodes", value.get("plan")) if in_object else value)
            except PlanError as error:
                problem = str(error)
                continue
            if plan:
                return Reading(plan)
            has_empty = True
    return Reading(()) if has_empty else Reading((), problem)


def write(plan: Plan) -> str:
    """The plan as one line of JSON."""
    steps = [{"id": i, "name": s.name, "args": s.args} for i, s in enumerate(plan)]
    return json.dumps(steps, ensure_ascii=False)


def _values(text: str) -> Iterator[Any]:
    """The outermost JSON lists and objects in a text, in order."""
    at = 0
    while opening := _OPENS.search(text, at):
        start = opening.start()
        at, is_closed = tokens_end(text, start)
        if is_closed:
            with suppress(ValueError, RecursionError):
                yield json.loads(text[start:at], strict=False)


FORM = Form("json", HOW_TO_WRITE, read, write)
