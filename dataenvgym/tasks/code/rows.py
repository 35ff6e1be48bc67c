"""What every format of code data sets is read into, before it becomes an instance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.tasks.sources import Row


@dataclass(frozen=True)
class Parts:
    """The parts of an instance in a row.

    Attributes:
        problem: the fields of `CodeProblem`, not yet checked.
        id_field: the field with the row's own id, where it has one.
    """

    instruction: str
    problem: dict[str, Any]
    id_field: str
    skill: str | None = None
    category: str | None = None


def text_in(row: Row, field: str) -> str:
    """The text in that field.

    Raises:
        InvalidInstanceError: if there is none.
    """
    value = row.values.get(field)
    if not isinstance(value, str):
        found = f"{type(value).__name__} {value!r:.80}" if field in row.values else "nothing"
        raise InvalidInstanceError(f"{row.where}, field {field!r}: found {found}, expected text")
    return value


def json_in_field(row: Row, field: str) -> Any:
    """What the JSON in that field says, None if it is empty; no text stands for itself.

    Raises:
        InvalidInstanceError: if it is no JSON.
    """
    value = row.values.get(field)
    if not isinstance(value, str):
        return value
    return json_of(value, f"{row.where}, field {field!r}") if value.strip() else None


def json_of(text: str, where: str) -> Any:
    """The value that a JSON text stands for.

    Raises:
        InvalidInstanceError: if it is no JSON.
    """
    try:
        return json.loads(text)  # orjson makes floats of long whole numbers
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError(f"{where}: no JSON: {error}: {text[:80]!r}") from None
