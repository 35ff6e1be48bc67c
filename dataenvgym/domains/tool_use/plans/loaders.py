"""Makes task instances of rows of m&m's.

Fields:

    user_request     the request
    plan_str, plan   the gold plan: a list of steps {"id", "name", "args"}, or a text with one, in
                     JSON or Python syntax; the first of the two that exists is used
    alt_plans_str, alt_plans, alternatives
                     a list of further gold plans, or a text with one; read only for best_match
    id               optional; by default the row's place

The skill is the gold plan's list of tools, "image_captioning > text_generation"; the category is
its length, "2 steps". `data` has all gold plans, the listed one first.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

import orjson

from dataenvgym.domains.tool_use.plans.forms import Form
from dataenvgym.domains.tool_use.plans.plan import Plan, PlanError, plan_of, tools_of
from dataenvgym.errors import InvalidInstanceError, did_you_mean
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.rows import SourceRow

PLANS = "plans"
_GOLD = ("plan_str", "plan")
_ALTERNATIVES = ("alt_plans_str", "alt_plans", "alternatives")


def to_instance(
    row: SourceRow, *, task: str, tools: Collection[str], form: Form, best_match: bool
) -> TaskInstance:
    """The task instance in a row.

    Raises:
        InvalidInstanceError: naming the file, the row and the field.
    """
    request = row.values.get("user_request")
    if not isinstance(request, str) or not request.strip():
        raise _invalid(row, "user_request", f"found {_shown(request)}, expected a text")
    field = next((f for f in _GOLD if row.values.get(f) is not None), None)
    if field is None:
        raise _invalid(row, _GOLD[0], "found nothing, expected a list of steps, here or in 'plan'")
    gold = _gold_plan(_value(row, field), row, field, tools)
    plans = [gold, *(_alternatives(row, tools) if best_match else ())]
    try:
        answer = form.write(gold)
    except PlanError as error:
        raise _invalid(row, field, f"{error}; choose task.form=json") from None
    number = row.values.get("id")
    n = len(gold)
    return TaskInstance(
        id=row.id if number in (None, "") else str(number),
        task=task,
        instruction=request.strip(),
        answer=answer,
        skill=skill_of(gold),
        category=f"{n} step{'s' if n > 1 else ''}",
        data={PLANS: [as_json(plan) for plan in plans]},
    )


def skill_of(plan: Plan) -> str:
    """The ordered list of tools as text."""
    return " > ".join(tools_of(plan))


def as_json(plan: Plan) -> list[Any]:
    """The plan as JSON values."""
    return [{"name": step.name, "args": dict(step.args)} for step in plan]


def check_tools(plan: Plan, tools: Collection[str]) -> None:
    """Raise PlanError if a step calls a tool that is not in the tool list."""
    for place, step in enumerate(plan):
        if step.name not in tools:
            raise PlanError(
                f"step {place} calls {step.name!r}, which is not in the tool list (task.tools)."
                f"{did_you_mean(step.name, tools)}"
            )


def _alternatives(row: SourceRow, tools: Collection[str]) -> list[Plan]:
    field = next((f for f in _ALTERNATIVES if row.values.get(f)), None)
    if field is None:
        return []
    found = _value(row, field)
    if not isinstance(found, Sequence):
        raise _invalid(row, field, f"found {_shown(found)}, expected a list of plans")
    return [_gold_plan(plan, row, field, tools) for plan in found]


def _gold_plan(steps: Any, row: SourceRow, field: str, tools: Collection[str]) -> Plan:
    try:
        plan = plan_of(steps, strict=True)
        check_tools(plan, tools)
    except PlanError as error:
        raise _invalid(row, field, str(error)) from None
    if not plan:
        raise _invalid(row, field, "the plan has no step, expected at least one")
    return plan


def _value(row: SourceRow, field: str) -> Any:
    """The field's value; a text is parsed as JSON or Python syntax."""
    value = row.values[field]
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise _invalid(
            row, field, f"found the text {value!r:.60}, expected a list in JSON or in Python"
        ) from None


def _invalid(row: SourceRow, field: str, what: str) -> InvalidInstanceError:
    return InvalidInstanceError(f"{row.where}, field {field!r}: {what}")


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r:.60}"
