"""Parse training records in a model's answer: `{"records": [{"instruction", "output"}]}`.

One bad record does not spoil the others: each is parsed on its own, and malformed ones are counted.
A prompt asks for records in a form, which has to be the task's (`check_form`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dataenvgym.errors import ConfigurationError, InvalidRecordError
from dataenvgym.interfaces import Reply
from dataenvgym.records import Provenance, SupervisedDatum, parse_training_datum
from dataenvgym.teachers.prompts import Prompt
from dataenvgym.teachers.repair import json_in
from dataenvgym.teachers.structured import TEXT, Schema, list_of, object_of, shaped

_FIELDS = ("instruction", "output")
PROBLEM = "problem"
"""The form of a prompt that asks for instructions alone; another prompt asks for each output."""
Item = TypeVar("Item")
_SOLVED_BY = {
    "": "answering a question",
    "call": "a call of listed tools",
    "plan": "a plan of tool calls",
    "social": "talking, turn by turn",
    "tool": "calling tools",
}


def records_schema(
    count: int | None = None,
    max_length: int | None = None,
    *,
    lists: Sequence[str] = (),
    fields: Sequence[str] = _FIELDS,
) -> Schema:
    """The JSON schema of an answer with `count` records (None: any number).

    Args:
        max_length: the longest instruction or output, in characters; None allows any.
        lists: names of further fields of a record, each a list of texts.
        fields: names of its fields with a text.
    """
    text = TEXT if max_length is None else {**TEXT, "minLength": 1, "maxLength": max_length}
    record = object_of(**dict.fromkeys(fields, text), **dict.fromkeys(lists, list_of(text)))
    limits = {} if count is None else {"minItems": count, "maxItems": count}
    return object_of(records=list_of(record, **limits))


def records_in(reply: Reply, provenance: Provenance) -> tuple[list[SupervisedDatum], int]:
    """Parse the records in a reply, with that provenance; also return how many were malformed."""
    return items_in(reply, records_schema(), lambda item: record_of(item, provenance))


def items_in(
    reply: Reply, schema: Schema, read: Callable[[Any], Item | None]
) -> tuple[list[Item], int]:
    """Parse the records in a reply; also return how many were malformed.

    A reply without anything like a record gives no records and none malformed. If the reply has
    several JSON values, the first one with a record counts.
    """
    malformed = 0
    for value in json_in(reply.text):
        found = shaped(value, schema)
        items = found.get("records") if isinstance(found, dict) else None
        if not isinstance(items, list):
            continue
        found_items = [read(item) for item in items]
        records = [record for record in found_items if record is not None]
        if records:
            return records, len(items) - len(records)
        malformed = malformed or len(items)
    return [], malformed


def record_of(item: Any, provenance: Provenance) -> SupervisedDatum | None:
    """Parse a JSON value as a record; None if it is malformed."""
    if not isinstance(item, dict):
        return None
    texts: dict[str, Any] = {}
    for name in _FIELDS:
        value = item.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        texts[name] = value.strip() if isinstance(value, str) else value
        if isinstance(value, str) and "\0" in value:
            return None  # a zero byte is never meant: the answer was cut or garbled
    try:
        datum = parse_training_datum({**texts, "provenance": provenance})
    except InvalidRecordError:
        return None
    assert isinstance(datum, SupervisedDatum)  # it has no `kind`, so it is of the default one
    return datum


def check_form(prompt: Prompt, task: str, forms: Sequence[str]) -> None:
    """Refuse a prompt that asks for records in a form in which the task's teachers do not write.

    A prompt of one's own has no form. It has to show {told} where more than an answer is needed.
    """
    if prompt.form in forms or (not prompt.form and "told" in prompt.names):
        return
    best = forms[0]
    asks = f"for those of prompt={prompt.form}_records" if prompt.form else "for an answer"
    raise ConfigurationError(
        f"the problems of task {task!r} are solved by {_SOLVED_BY.get(best, best)}, and the prompt "
        f"asks {asks}: use prompt={f'{best}_records'.lstrip('_')}, or put {{told}} into your own"
    )
