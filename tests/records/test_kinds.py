"""Errors about records that are of no kind, or have fields of another one."""

import pytest

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records import parse_training_datum
from dataenvgym.records.training import KINDS, fields_of


def message(value: object) -> str:
    with pytest.raises(InvalidRecordError) as caught:
        parse_training_datum(value, index=2)
    return str(caught.value)


def test_an_unknown_kind_is_answered_with_all_kinds_and_their_fields():
    said = message({"kind": "preferences", "instruction": "a"})
    assert said.startswith("record 2, field (whole record): there is no kind 'preferences'.")
    for line in (
        "supervised: instruction, output; optional: input, system, history",
        "kto: instruction, output, desirable; optional: input, system, history",
        "text: text",
        "scored: messages, weights; optional: system, tools",
    ):
        assert f"\n  {line}\n" in f"{said}\n"
    assert all(f"\n  {kind}: " in said for kind in KINDS)


@pytest.mark.parametrize("value", [3, None, "text", []])
def test_a_value_that_is_not_a_mapping_is_answered_with_all_kinds(value):
    said = message(value)
    assert f"found {value!r}, expected a record or a mapping with its fields" in said
    assert all(f"\n  {kind}: " in said for kind in KINDS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"output": ...}, "field output: Field required; found "),
        ({"outputs": "c"}, "field outputs: "),
        ({"skill": "x"}, "provenance (which has skill"),
    ],
)
def test_a_missing_or_unknown_field_is_answered_with_those_of_the_kind(changes, said):
    fields = {"instruction": "a", "output": "b", **changes}
    found = message({name: value for name, value in fields.items() if value is not ...})
    assert said in found
    assert f"A record of kind 'supervised' has {fields_of('supervised')}, provenance" in found
