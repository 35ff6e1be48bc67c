"""The kinds of training records and their fields, described for errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel

from dataenvgym.errors import did_you_mean
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
