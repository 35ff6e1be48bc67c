"""A plan as JSON: `[{"id": 0, "name": "tool", "args": {...}}, ...]`.

In a reply, the list may have words or a code fence around it, or be the `nodes` or the `plan` of an
object. The last plan with steps counts; thoughts do not count (see `said_in`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from dataenvgym.domains.tool_use.plans.plan import Form, Plan, PlanError, Reading, plan_of
from dataenvgym.scoring.code.replies import texts_of

HOW_TO_WRITE = """\
Reply with the plan as a JSON list of steps, in the order in which they run:

[{"id": 0, "name": "TOOL", "args": {"ARGUMENT": "VALUE"}}, {"id": 1, "name": "TOOL", "args": {...}}]

A value is text. It refers to the result of an earlier step as <node-k>.NAME: <node-0>.text is the \
result `text` of the step with id 0. Use as few tools as possible."""

_OPENS = re.compile(r"[\[{]")
# Text that is not JSON ends the search for the closing bracket; the next search begins behind it.
# Behind an unclosed string, every quote follows a backslash, which is not a token. So no part of a
# text is scanned more than twice.
_TOKEN = re.compile(
    r'[\s,:]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|true|false|null|-?\d[\d.eE+-]*+', re.DOTALL
)


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
        end, at = _end(text, opening.start())
        if end is not None:
            try:
                yield json.loads(text[opening.start() : end], strict=False)
            except (ValueError, RecursionError):
                continue


def _end(text: str, start: int) -> tuple[int | None, int]:
    """The end of the brackets opened at `start`, or None; and the position to search from next."""
    at, depth = start, 0
    while token := _TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] in "[{") - (token[0] in "]}")
        if not depth:
            return at, at
    return None, max(at, start + 1)


FORM = Form("json", HOW_TO_WRITE, read, write)
