"""Turns rows into problems of tool use.

    {"id": "pay-1", "instruction": "Pay bill 7.", "skill": "pay", "gold": [{"name": "pay", ...}]}

A row has the fields of a `TaskInstance` and of a `ToolUseProblem` side by side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dataenvgym.domains.tool_use.problem import ToolUseProblem, complaint
from dataenvgym.errors import InvalidInstanceError, did_you_mean
from dataenvgym.records import TaskInstance, check_ids
from dataenvgym.tasks.rows import SourceRow, read_rows

_OWN = ("instruction", "skill", "category", "answer")
_KNOWN = ("id", *_OWN, *ToolUseProblem.model_fields)


def to_instance(row: SourceRow, *, task: str, world: str) -> TaskInstance:
    """The problem in a row; if the row names no world, `world` is used.

    Raises:
        InvalidInstanceError: naming the file, the problem and the field.
    """
    id = str(row.values.get("id", row.id))
    where = f"{row.where} (problem {id!r})"
    for name in row.values:
        if name not in _KNOWN:
            raise InvalidInstanceError(
                f"{where}: there is no field {name!r}.{did_you_mean(name, _KNOWN)} "
                f"The fields are: {', '.join(_KNOWN)}."
            )
    own: dict[str, Any] = {name: row.values[name] for name in _OWN if name in row.values}
    data = {name: row.values[name] for name in row.values if name not in ("id", *_OWN)}
    try:
        problem = ToolUseProblem.model_validate({"world": world, **data})
        if problem.user is None and not own.get("instruction", "-"):
            raise InvalidInstanceError(
                f"{where}: field instruction: it is empty, and there is no user who speaks first"
            )
        kept = problem.model_dump(mode="json", exclude_unset=True)
        return TaskInstance(id=id, task=task, data=kept, **own)
    except ValidationError as error:
        raise InvalidInstanceError(f"{where}: {complaint(error)}") from None


def load_problems(path: Path, world: str) -> tuple[TaskInstance, ...]:
    """All problems of a file; those that name no world use `world`.

    Raises:
        ConfigurationError: if the file does not exist.
        InvalidInstanceError: naming the file, the problem and the field.
    """
    instances = tuple(to_instance(row, task=world, world=world) for row in read_rows(path))
    check_ids(instances, str(path))
    return instances
