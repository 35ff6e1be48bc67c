"""Parses training records from untrusted data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records.kinds import all_kinds, explain_kind, hint_on_fields, unknown_fields
from dataenvgym.records.training import TrainingDatum

_DATUM: TypeAdapter[TrainingDatum] = TypeAdapter(TrainingDatum)


def parse_training_datum(value: Any, *, index: int | None = None) -> TrainingDatum:
    """One training record from a model or a mapping (`kind` defaults to "supervised").

    Raises:
        InvalidRecordError: naming the index, the field and what was found there.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(warnings=False)  # `model_copy` and `model_construct` check nothing
    if isinstance(value, Mapping):
        value = {"kind": "supervised", **value}
    try:
        return _DATUM.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # loc begins with the union's tag ("supervised", ...), which is not a field of the record
        field = ".".join(str(part) for part in first["loc"][1:]) or None
        where = "record" if index is None else f"record {index}"
        found = repr(first["input"])
        shown = found if len(found) <= 200 else found[:200] + "..."
        raise InvalidRecordError(
            f"{where}, field {field or '(whole record)'}: {_reason(value, first, field, shown)}",
            index=index,
            field=field,
        ) from None


def _reason(value: Any, problem: Any, field: str | None, shown: str) -> str:
    """The value found and what was expected; for a wrong kind or field, also the valid ones."""
    if not isinstance(value, Mapping):
        return f"found {shown}, expected a record or a mapping with its fields. {all_kinds()}"
    if problem["type"].startswith("union_tag"):
        return f"{explain_kind(value['kind'])}\nFound {shown}"
    hint = hint_on_fields(value["kind"], problem["type"], field)
    message = {"extra_forbidden": "there is no such field"}.get(problem["type"], problem["msg"])
    if hint and problem["type"] == "missing" and (unknown := unknown_fields(value)):
        hint = unknown + hint.removeprefix(".")
    return f"{message}; found {shown}{hint}"


def parse_training_data(values: Iterable[Any]) -> tuple[TrainingDatum, ...]:
    """A batch of training records; one malformed record refuses the whole batch.

    Raises:
        InvalidRecordError: for the first malformed record, with its index in the batch.
    """
    return tuple(parse_training_datum(value, index=i) for i, value in enumerate(values))
