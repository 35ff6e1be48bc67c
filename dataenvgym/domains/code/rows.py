"""Rows of code data sets: the common form of every format, before it becomes an instance.

The functions read a field. If it holds anything else, an InvalidInstanceError names row and field.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from dataenvgym.errors import InvalidInstanceError, shorten
from dataenvgym.tasks.rows import SourceRow

Container = TypeVar("Container", list[Any], dict[str, Any])
_LONGEST_INT = 4000  # digits; `int` refuses more than 4,300


@dataclass(frozen=True)
class Parts:
    """The parts of the instance that a row describes.

    Attributes:
        problem: the fields of `CodeProblem`, not yet checked.
        id_field: the field with the row's own id, if it has one.
    """

    instruction: str
    problem: dict[str, Any]
    id_field: str
    skill: str | None = None
    category: str | None = None


def text_in(row: SourceRow, field: str, *, default: str | None = None) -> str:
    """The text in that field; if it is absent or null, the default, if there is one."""
    value = row.values.get(field)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        _refuse(row, field, "text")
    return value


def texts_in(row: SourceRow, field: str) -> list[str]:
    """The list of texts in that field; empty if the field is absent or null."""
    texts = list_in(row, field)
    if not all(isinstance(text, str) for text in texts):
        _refuse(row, field, "a list of texts")
    return texts


def list_in(row: SourceRow, field: str) -> list[Any]:
    """The list in that field; empty if the field is absent or null."""
    value = row.values.get(field)
    if not isinstance(value, list | None):
        _refuse(row, field, "a list")
    return value or []


def json_in(row: SourceRow, field: str, kind: type[Container]) -> Container:
    """The list or object in that field, or in the JSON text there; empty if the field is empty."""
    value = row.values.get(field)
    if isinstance(value, str):
        value = json_of(value, f"{row.where}, field {field!r}") if value.strip() else None
    if value is None:
        return kind()
    if not isinstance(value, kind):
        _refuse(row, field, f"a {'list' if kind is list else 'JSON object'}, or a JSON text of one")
    return value


def json_of(text: str, where: str) -> Any:
    """Parse a JSON text; integers may have any number of digits."""
    try:
        return json.loads(text, parse_int=_whole)  # orjson turns long integers into floats
    except (ValueError, RecursionError) as error:
        raise InvalidInstanceError(f"{where}: not JSON: {error}: {shorten(text)!r}") from None


def _whole(text: str) -> int:
    if len(text) <= _LONGEST_INT:
        return int(text)
    if text.startswith("-"):
        return -_whole(text[1:])
    low = len(text) // 2
    power: int = 10**low
    return _whole(text[:-low]) * power + _whole(text[-low:])


def _refuse(row: SourceRow, field: str, wanted: str) -> NoReturn:
    value = row.values.get(field)
    found = f"{type(value).__name__} {value!r:.80}" if field in row.values else "nothing"
    raise InvalidInstanceError(f"{row.where}, field {field!r}: found {found}, expected {wanted}")
