"""Parses training records from untrusted data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from dataenvgym.errors import InvalidRecordError, did_you_mean, shorten
from dataenvgym.records.training import TrainingDatum

KINDS: dict[str, type[BaseModel]] = {
    model.model_fields["kind"].default: model for model in get_args(get_args(TrainingDatum)[0])
}
"""The model of each kind."""

_WRONG_FIELD = ("missing", "extra_forbidden")


def explain_kind(kind: Any) -> str:
    """An error text about an unknown kind, with the existing kinds."""
    meant = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
    return f"there is no kind {kind!r}.{meant} {all_kinds()}"


def all_kinds() -> str:
    """Every kind with its fields, a line for each."""
    return "The kinds of records:" + "".join(f"\n  {kind}: {fields_of(kind)}" for kind in KINDS)


def fields_of(kind: str) -> str:
    """`instruction, output; optional: input, system, history`."""
    fields = KINDS[kind].model_fields
    names = [name for name in fields if name not in ("kind", "provenance")]
    needed = [name for name in names if fields[name].is_required()]
    optional = [name for name in names if name not in needed]
    text = ", ".join(needed)
    return f"{text}; optional: {', '.join(optional)}" if optional else text


def unknown_fields(record: Mapping[str, Any]) -> str:
    """An error text about keys that are not fields of the record's kind, with suggestions."""
    known = KINDS[record["kind"]].model_fields
    unknown = [key for key in record if key not in known]
    hints = [f" {key!r} is not a field.{did_you_mean(str(key), known)}" for key in unknown]
    return "".join([".", *hints]) if hints else ""


def hint_on_fields(kind: str, problem: str, field: str | None) -> str:
    """The fields of a kind, if the problem is a missing or unknown field, otherwise "".

    Args:
        problem: the type of the error, as pydantic names it.
        field: the field of the record that the error is about.
    """
    if problem not in _WRONG_FIELD or kind not in KINDS or "." in (field or ""):
        return ""
    extra = problem == "extra_forbidden"
    meant = did_you_mean(field or "", KINDS[kind].model_fields) if extra else ""
    others = [
        other
        for other, model in KINDS.items()
        if extra and other != kind and field in model.model_fields
    ]
    which = f' It belongs to kind "{others[0]}".' if others and not meant else ""
    if extra and field in ("skill", "subskill"):
        which = f' It goes into "provenance": {{"{field}": ...}}.'
    return f".{meant}{which} A record of kind {kind!r} has {fields_of(kind)}, provenance"


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
        shown = shorten(repr(first["input"]), 200)
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
    """A batch of training records; InvalidRecordError for the first malformed one."""
    return tuple(parse_training_datum(value, index=i) for i, value in enumerate(values))
