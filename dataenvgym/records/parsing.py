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
        raise InvalidRecordError(
            f"{where}, field {field or '(whole record)'}: {_reason(value, first, field)}",
            index=index,
            field=field,
        ) from None


def _reason(value: Any, problem: Any, field: str | None) -> str:
    """The value found and what was expected; for a wrong kind or field, also the valid ones."""
    shown = shorten(repr(problem["input"]), 200)
    if not isinstance(value, Mapping):
        return f"found {shown}, expected a record or a mapping with its fields. {all_kinds()}"
    kind, fault = value["kind"], problem["type"]
    if fault.startswith("union_tag"):
        meant = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        return f"there is no kind {kind!r}.{meant} {all_kinds()}\nFound {shown}"
    is_extra = fault == "extra_forbidden"
    message = f"{'there is no such field' if is_extra else problem['msg']}; found {shown}"
    if not (is_extra or fault == "missing") or field is None or "." in field:
        return message
    known = KINDS[kind].model_fields
    if not is_extra:
        unknown = [key for key in value if key not in known]
        hints = [f" {key!r} is not a field.{did_you_mean(str(key), known)}" for key in unknown]
    elif field in ("skill", "subskill"):
        hints = [f' It goes into "provenance": {{"{field}": ...}}.']
    elif meant := did_you_mean(field, known):
        hints = [meant]
    else:
        others = [other for other, model in KINDS.items() if field in model.model_fields]
        hints = [f' It belongs to kind "{other}".' for other in others[:1]]
    allowed = f"A record of kind {kind!r} has {fields_of(kind)}, provenance"
    return f"{message}.{''.join(hints)} {allowed}"


def parse_training_data(values: Iterable[Any]) -> tuple[TrainingDatum, ...]:
    """A batch of training records; InvalidRecordError for the first malformed one."""
    return tuple(parse_training_datum(value, index=i) for i, value in enumerate(values))
