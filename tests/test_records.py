from __future__ import annotations

import pytest
from pydantic import ValidationError

from dataenvgym.errors import InvalidRecordError
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    KTODatum,
    Message,
    PreferenceDatum,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
    ToolCall,
    TrainingDatum,
    parse_training_data,
    parse_training_datum,
)

NASTY = "ünï 世界 🎉 \x00 \n\t <|end|> \u202e"
ORIGIN = Provenance(id="001-00002", skill="sum", agent="me", iteration=1)
RECORDS: list[TrainingDatum] = [
    SupervisedDatum(
        instruction=NASTY, input="x", system="s", history=(("a", "b"),), output=NASTY,
        provenance=ORIGIN,
    ),
    ChatDatum(
        messages=(
            Message(role="user", content=NASTY),
            Message(
                role="assistant",
                content="",
                tool_calls=(ToolCall(name="add", arguments={"a": [1, None, NASTY]}),),
            ),
            Message(role="tool", content="3"),
            Message(role="assistant", content="3"),
        ),
        tools=({"name": "add", "parameters": {"type": "object", "properties": {}}},),
    ),
    PreferenceDatum(instruction="q", chosen="a", rejected="b"),
    KTODatum(instruction="q", output="a", desirable=False),
    TextDatum(text=NASTY),
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
        ({"instruction": "a", "output": None}, "output"),
        ({"kind": "preference", "instruction": "a", "chosen": "x"}, "rejected"),
        ({"kind": "text", "text": ""}, "text"),
        ({"instruction": "a", "output": "b", "provenance": {"iteration": "soon"}},
         "provenance.iteration"),
    ],
)  # fmt: skip
def test_a_malformed_record_is_named_by_index_and_field(value, field):
    with pytest.raises(InvalidRecordError, match=f"record 1, field {field}") as caught:
        parse_training_data([RECORDS[0], value])
    assert (caught.value.index, caught.value.field) == (1, field)


def test_a_misspelt_field_is_refused_not_ignored():
    with pytest.raises(InvalidRecordError, match="outputs"):
        parse_training_datum({"instruction": "a", "output": "b", "outputs": "c"})


@pytest.mark.parametrize("value", [3, None, "text", [], {"kind": "poem"}])
def test_what_is_no_record_at_all_is_refused(value):
    with pytest.raises(InvalidRecordError, match="whole record"):
        parse_training_datum(value)


@pytest.mark.parametrize(
    "roles", [("assistant", "user"), ("user",), ("user", "user"), ("user", "assistant", "user")]
)
def test_a_chat_alternates_and_ends_with_the_assistant(roles):
    messages = tuple(Message(role=role, content="x") for role in roles)
    with pytest.raises(ValidationError):
        ChatDatum(messages=messages)


def test_only_the_assistant_calls_tools():
    call = ToolCall(name="add")
    with pytest.raises(ValidationError):
        ChatDatum(
            messages=(
                Message(role="user", content="x", tool_calls=(call,)),
                Message(role="assistant", content="y"),
            )
        )


def test_equal_answers_are_no_preference():
    with pytest.raises(ValidationError, match="same text"):
        PreferenceDatum(instruction="q", chosen="a", rejected="a")


def test_records_are_frozen():
    with pytest.raises(ValidationError):
        RECORDS[0].output = "other"


def test_the_prompt_has_system_history_and_input_in_their_places():
    assert [(m.role, m.content) for m in RECORDS[0].prompt] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
        ("user", f"{NASTY}\nx"),
    ]


def test_the_response_of_a_completed_instance_is_the_students_last_message():
    instance = TaskInstance(id="1", task="t", instruction="q", answer="4")
    said = tuple(Message(role=r, content=c) for r, c in [("user", "q"), ("assistant", "4")])
    completed = CompletedTaskInstance(
        instance=instance, transcript=said, reward=1.0, was_correct=True
    )
    assert completed.response == "4"
    assert completed.model_copy(update={"transcript": said[:1]}).response is None
    assert CompletedTaskInstance.model_validate_json(completed.model_dump_json()) == completed


@pytest.mark.parametrize("field", ["instruction", "input", "output", "system"])
def test_a_lone_surrogate_is_no_text(field):
    value = {"instruction": "a", "output": "b", field: "\ud800"}
    with pytest.raises(InvalidRecordError, match=rf"field {field}: .*[Uu]nicode"):
        parse_training_datum(value)


@pytest.mark.parametrize("number", [2**64, float("nan")])
def test_a_number_that_json_cannot_hold_is_refused(number):
    with pytest.raises(ValidationError, match="no JSON"):
        ToolCall(name="add", arguments={"a": [number]})


@pytest.mark.parametrize(
    "outcome", [{"reward": 1.0, "was_correct": False}, {"reward": 0.0, "was_correct": True}]
)
def test_an_instance_with_an_error_cannot_be_scored(outcome):
    instance = TaskInstance(id="1", task="t", instruction="q")
    with pytest.raises(ValidationError, match="error"):
        CompletedTaskInstance(instance=instance, transcript=(), error="timeout", **outcome)
