"""Errors about records that are of no kind, or have fields of another one."""

from typing import get_args

import pytest

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records import parse_training_datum
from dataenvgym.records.parsing import KINDS, fields_of
from dataenvgym.records.training import DatumKind


def message(value: object) -> str:
    with pytest.raises(InvalidRecordError) as caught:
        parse_training_datum(value, index=2)
    return str(caught.value)


def test_every_kind_is_known():
    assert [*KINDS] == [*get_args(DatumKind)]


def test_an_unknown_kind_is_answered_with_all_kinds_and_their_fields():
    said = message({"kind": "preferences", "instruction": "a"})
    assert said.startswith("record 2, field (whole record): there is no kind 'preferences'.")
    assert "Did you mean 'preference'?" in said
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


def test_a_missing_field_is_answered_with_the_fields_of_the_kind():
    said = message({"instruction": "a"})
    assert said.startswith("record 2, field output: Field required; found ")
    assert said.endswith(f"A record of kind 'supervised' has {fields_of('supervised')}, provenance")


def test_an_unknown_field_is_answered_with_the_closest_one():
    said = message({"instruction": "a", "output": "b", "outputs": "c"})
    assert "field outputs" in said
    assert "Did you mean 'output'? A record of kind 'supervised' has instruction, output;" in said


def test_a_field_of_another_kind_says_which():
    said = message({"instruction": "a", "output": "b", "weights": [1.0]})
    assert 'It belongs to kind "scored".' in said


def test_a_wrong_value_needs_no_list_of_fields():
    said = message({"instruction": "", "output": "b"})
    assert "A record of kind" not in said
    inner = message({"instruction": "a", "output": "b", "provenance": {"skil": "x"}})
    assert "field provenance.skil" in inner
    assert "A record of kind" not in inner


def test_a_misspelled_required_field_is_answered_with_the_closest_one():
    said = message({"instruction": "a", "ouput": "b"})
    assert "'ouput' is not a field. Did you mean 'output'? A record of kind" in said
    said = message({"prompt": "a", "answer": "b"})
    assert ". 'prompt' is not a field. 'answer' is not a field. A record of kind" in said


def test_a_skill_outside_of_provenance_is_an_error_with_its_place():
    said = message({"instruction": "a", "output": "b", "skill": "x"})
    assert 'there is no such field; found \'x\'. It goes into "provenance": {"skill": ...}.' in said
