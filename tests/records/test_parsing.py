"""Training records parsed from other people's files."""

import pytest
from pydantic import ValidationError

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    Provenance,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
    TrainingDatum,
    parse_training_data,
    parse_training_datum,
)

NASTY = "ünï 世界 🎉 \x00 \n\t <|end|> \u202e"
ASKED, SAID = Message(role="user", content=NASTY), Message(role="assistant", content="3")
CALL = ToolCall(name="add", arguments={"a": [1, None, NASTY]})
CALLED = Message(role="assistant", content="", tool_calls=(CALL,))
RESULT = Message(role="tool", content="3")
ADD = {"name": "add", "parameters": {"type": "object", "properties": {}}}
ORIGIN = Provenance(id="001-00002", skill="sum", agent="me", iteration=1)
RECORDS: list[TrainingDatum] = [
    SupervisedDatum(
        instruction=NASTY, input="x", system="s", history=(("a", "b"),), output=NASTY,
        provenance=ORIGIN,
    ),
    ChatDatum(messages=(ASKED, CALLED, RESULT, SAID), tools=(ADD,)),
    PreferenceDatum(instruction="q", chosen="a", rejected="b"),
    KTODatum(instruction="q", output="a", desirable=False),
    TextDatum(text=NASTY),
    ScoredDatum(messages=(ASKED, SAID, ASKED, SAID), tools=(ADD,), weights=(-0.25, None)),
]  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.kind)
def test_every_kind_survives_json_unchanged(record):
    assert parse_training_datum(record.model_dump(mode="json")) == record
    assert type(record).model_validate_json(record.model_dump_json()) == record


def test_a_mapping_without_a_kind_is_a_supervised_record():
    assert parse_training_datum({"instruction": "a", "output": "b"}) == SupervisedDatum(
        instruction="a", output="b"
    )


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"instruction": "a"}, "output"),
        ({"instruction": "", "output": "b"}, "instruction"),
        ({"kind": "preference", "instruction": "a", "chosen": "x"}, "rejected"),
        ({"kind": "text", "text": ""}, "text"),
    ],
)  # fmt: skip
def test_a_malformed_record_is_named_by_index_and_field(value, field):
    with pytest.raises(InvalidRecordError, match=f"record 1, field {field}") as caught:
        parse_training_data([RECORDS[0], value])
    assert (caught.value.index, caught.value.field) == (1, field)


@pytest.mark.parametrize(
    ("provenance", "field"),
    [
        ({"skill": "a\ud800"}, "provenance.skill"),
        ({"iteration": "second"}, "provenance.iteration"),
        (None, "provenance"),
    ],
)
@pytest.mark.parametrize("how", ["mapping", "copied", "constructed"])
def test_a_wrong_provenance_is_refused_however_the_record_was_made(provenance, field, how):
    record: object = {"instruction": "a", "output": "b", "provenance": provenance}
    if how == "copied":
        record = SupervisedDatum(instruction="a", output="b").model_copy(
            update={"provenance": provenance}
        )
    elif how == "constructed":
        record = SupervisedDatum.model_construct(**record)
    with pytest.raises(InvalidRecordError) as caught:
        parse_training_datum(record, index=3)
    assert (caught.value.index, caught.value.field) == (3, field)


@pytest.mark.parametrize("field", ["instruction", "input", "output", "system"])
def test_a_lone_surrogate_is_not_text(field):
    value = {"instruction": "a", "output": "b", field: "\ud800"}
    with pytest.raises(InvalidRecordError, match=rf"field {field}: .*[Uu]nicode"):
        parse_training_datum(value)


@pytest.mark.parametrize("number", [float("nan"), 10**309])
def test_a_number_that_json_cannot_hold_is_refused(number):
    with pytest.raises(ValidationError, match="no JSON"):
        ToolCall(name="add", arguments={"a": [number]})
