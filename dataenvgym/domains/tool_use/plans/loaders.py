"""The tool list, and the problems in rows of m&m's.

Fields of a row:

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
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from dataenvgym import exact_json
from dataenvgym.domains.tool_use.plans.plan import (
    Form,
    Plan,
    PlanError,
    plan_of,
    tool_name,
    tools_of,
)
from dataenvgym.errors import (
    ConfigurationError,
    InvalidInstanceError,
    did_you_mean,
    first_fault,
)
from dataenvgym.records import Model, TaskInstance
from dataenvgym.storage import naming_damage, read_json
from dataenvgym.tasks.rows import SourceRow
from dataenvgym.tasks.scoring.code.syntax import parse_expression


def _names(value: Any) -> Any:
    if isinstance(value, Mapping):  # as in m&m's
        value = value.get("arg_name")
    return (value,) if isinstance(value, str) else value or ()


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]


class PlanTool(Model):
    """A tool as the student sees it: names of arguments and results, and a description."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: Annotated[str, Field(pattern=r"\S"), AfterValidator(tool_name)]
    args: Names = Field(default=(), validation_alias=AliasChoices("args", "input"))
    returns: Names = Field(default=(), validation_alias=AliasChoices("returns", "output"))
    description: Annotated[
        str, BeforeValidator(lambda text: text or ""), AfterValidator(str.strip)
    ] = ""

    def __str__(self) -> str:
        results = f" -> {', '.join(self.returns)}" if self.returns else ""
        text = f": {self.description}" if self.description else ""
        return f"{self.name}({', '.join(self.args)}){results}{text}"


_TOOL = '[{"name": "captioning", "args": ["image"], "returns": ["text"], "description": "..."}]'
_TOOLS = TypeAdapter(Annotated[tuple[PlanTool, ...], Field(min_length=1)])


def read_tools(source: str | Path | Mapping[str, Any] | Sequence[Any]) -> tuple[PlanTool, ...]:
    """The tools of a file, or of its content.

    The content is a list of objects with `name` and, optionally, `description`, `args` and
    `returns` (lists of names); or an object from names to such objects, as in m&m's, where the
    lists are `input.arg_name` and `output.arg_name`. Other fields are ignored. Spaces in names
    become underscores.

    Raises:
        ConfigurationError: naming the file, the tool and the field.
    """
    where, content = "tools", source
    if isinstance(source, str | Path):
        where = str(path := Path(source).expanduser())
        with naming_damage(path, f"tools are a JSON list such as {_TOOL}", ConfigurationError):
            content = read_json(path)
    try:
        if isinstance(content, Mapping):
            content = [{"name": name, **value} for name, value in content.items()]
        tools = _TOOLS.validate_python(content)
    except TypeError as error:  # a tool of m&m's that is not an object
        raise ConfigurationError(f"{where}: {error}") from None
    except ValidationError as error:
        raise ConfigurationError(f"{where}: {first_fault(error)}") from None
    if len({tool.name for tool in tools}) < len(tools):
        raise ConfigurationError(f"{where}: a tool occurs twice, expected it once")
    return tools


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
        raise row.fault("user_request", "a text")
    field = next((f for f in _GOLD if row.values.get(f) is not None), _GOLD[0])
    other = next((f for f in _ALTERNATIVES if best_match and row.values.get(f)), None)
    try:
        gold = _gold_plan(_listed(row, field), tools)
        answer = form.write(gold)
        field = other or field
        others = [_gold_plan(steps, tools) for steps in _listed(row, other)] if other else []
    except PlanError as error:
        raise InvalidInstanceError(f"{row.where}, field {field!r}: {error}") from None
    number = row.values.get("id")
    n = len(gold)
    return TaskInstance(
        id=row.id if number in (None, "") else str(number),
        task=task,
        instruction=request.strip(),
        answer=answer,
        skill=" > ".join(tools_of(gold)),
        category=f"{n} step{'s' if n > 1 else ''}",
        data={
            PLANS: [
                [{"name": s.name, "args": dict(s.args)} for s in plan] for plan in (gold, *others)
            ]
        },
    )


def check_tools(plan: Plan, tools: Collection[str]) -> None:
    """Raise PlanError if a step calls a tool that is not in the tool list."""
    for place, step in enumerate(plan):
        if step.name not in tools:
            raise PlanError(
                f"step {place} calls {step.name!r}, which is not in the tool list (task.tools)."
                f"{did_you_mean(step.name, tools)}"
            )


def _gold_plan(steps: Any, tools: Collection[str]) -> Plan:
    plan = plan_of(steps, strict=True)
    check_tools(plan, tools)
    if not plan:
        raise PlanError("the plan has no step, expected at least one")
    return plan


def _listed(row: SourceRow, field: str) -> list[Any]:
    """The field's value, a list; a text is parsed as JSON or Python syntax."""
    value = row.values.get(field)
    if isinstance(value, str):
        for read in (
            exact_json.loads,
            lambda text: ast.literal_eval(parse_expression(text.lstrip(" \t"))),
        ):
            with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                value = read(value)
                break
    if not isinstance(value, list):
        raise row.fault(field, "a list, or a text with one in JSON or in Python")
    return value
