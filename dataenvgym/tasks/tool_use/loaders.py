"""From rows to problems of tool use.

    {"id": "pay-1", "instruction": "Pay bill 7.", "skill": "pay", "gold": [{"name": "pay", ...}]}

A row has the fields of a `TaskInstance` and those of a `ToolUseProblem` side by side.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from dataenvgym.errors import InvalidInstanceError, did_you_mean
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.rows import Row
from dataenvgym.tasks.tool_use.problem import ToolUseProblem, complaint

_OWN = ("instruction", "skill", "category", "answer")
_KNOWN = ("id", *_OWN, *ToolUseProblem.model_fields)


def to_instance(row: Row, *, task: str, world: str) -> TaskInstance:
    """The problem in a row; one that names no world is about `world`.

    Raises:
        InvalidInstanceError: naming the file, the problem and the field.
    """
    for name in row.values:
        if name not in _KNOWN:
            raise InvalidInstanceError(
                f"{row.where} (problem {row.id!r}): there is no field {name!r}."
                f"{did_you_mean(name, _KNOWN)} The fields are: {', '.join(_KNOWN)}."
            )
    own: dict[str, Any] = {name: row.values[name] for name in _OWN if name in row.values}
    data = {name: row.values[name] for name in row.values if name not in ("id", *_OWN)}
    try:
        data = {"world": world, **data}
        problem = ToolUseProblem.model_validate(data)
        kept = problem.model_dump(mode="json", exclude_unset=True)
        return TaskInstance(id=str(row.values.get("id", row.id)), task=task, data=kept, **own)
    except ValidationError as error:
        raise InvalidInstanceError(
            f"{row.where} (problem {row.id!r}): {complaint(error)}"
        ) from None
