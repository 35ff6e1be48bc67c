"""Parses entries of files of profiles; errors name the file, the entry and the field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.storage import read_json, read_jsonl

M = TypeVar("M", bound=BaseModel)


def read_entries(path: Path) -> list[Any]:
    """The entries of a file: a JSON list, or one JSON value per line if it ends in ".jsonl".

    Raises:
        BrokenFileError: if it is not JSON.
        InvalidInstanceError: if it is not a list.
    """
    if path.suffix == ".jsonl":
        return list(read_jsonl(path))
    entries = read_json(path)
    if not isinstance(entries, list):
        raise InvalidInstanceError(
            f"{path} holds a {type(entries).__name__}, expected a list of profiles"
        )
    return entries


def parse(model: type[M], value: Any, place: str, *, names: Mapping[str, str] | None = None) -> M:
    """The profile in a JSON value.

    Args:
        place: file and entry, for the error.
        names: of fields in the file, where they differ from those of the model.

    Raises:
        InvalidInstanceError: if it is not a valid profile.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        loc = [str(part) for part in first["loc"]]
        if loc and names:
            loc[0] = names.get(loc[0], loc[0])
        field = f", field {'.'.join(loc)!r}" if loc else ""
        got = "" if first["type"] == "missing" or not loc else f" (got {first['input']!r:.80})"
        message = first["msg"].removeprefix("Value error, ").replace("valid tuple", "valid list")
        raise InvalidInstanceError(f"{place}{field}: {message}{got}") from error
