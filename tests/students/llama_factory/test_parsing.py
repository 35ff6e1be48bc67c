"""Rows, ours and other people's, become the records that they mean to LLaMA-Factory."""

from typing import Any

import pytest

from dataenvgym.errors import DatasetFormatError, InvalidRecordError
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.students.llama_factory import format_records_for_epo
from dataenvgym.students.llama_factory.entries import DatasetEntry
from dataenvgym.students.llama_factory.reading import parse_row


def parse(row: Any, **entry: Any) -> TrainingDatum:
    return parse_row(row, DatasetEntry.model_validate({"file_name": "rows.json", **entry}))


NAMED = {"prompt": "q", "query": "c", "response": "a", "history": "h", "tools": "t"}


@pytest.mark.parametrize(
    ("row", "entry", "record"),
    [
        (
            {"q": "Q", "c": None, "a": "A", "h": [["a", "b"]], "unused": 1},
            {"columns": NAMED},
            SupervisedDatum(instruction="Q", output="A", history=(("a", "b"),)),
        ),
        (  # a query without a prompt is the instruction
            {"instruction": "", "input": "Q", "output": "A"},
            {},
            SupervisedDatum(instruction="Q", output="A"),
        ),
        (  # with tools, it is a chat
            {"q": "Q", "a": "A", "t": '[{"name": "f"}]'},
            {"columns": NAMED},
            ChatDatum(
                messages=(
                    Message(role="user", content="Q"),
                    Message(role="assistant", content="A"),
                ),
                tools=({"name": "f"},),
            ),
        ),
        # without a column for a response, it is text
        ({"text": "Once."}, {"columns": {"prompt": "text"}}, TextDatum(text="Once.")),
    ],
)
def test_alpaca_rows_are_read_by_the_names_of_their_columns(row, entry, record):
    assert parse(row, **entry) == record


def test_a_leading_system_turn_overrides_the_system_column():
    row = {
        "conversations": [
            {"from": "system", "value": "S"},
            {"from": "human", "value": "Q"},
            {"from": "gpt", "value": "A"},
        ],
        "sys": "other",
    }
    record = parse(row, formatting="sharegpt", columns={"messages": "conversations", "system": "s"})
    assert isinstance(record, ChatDatum)
    assert record.system == "S"
    assert [message.role for message in record.messages] == ["user", "assistant"]


BICYCLE = ScoredDatum(
    messages=(
        Message(role="user", content="80?"),
        Message(role="assistant", content="60."),
        Message(role="user", content="70?"),
        Message(role="assistant", content="Deal."),
    ),
    system="You buy a bicycle.",
    weights=(-0.2, 0.0),
)
EPO = {"formatting": "sharegpt", "columns": {"messages": "conversations"}}


def test_scores_in_turns_are_weights_and_written_as_in_epo():
    (row,) = format_records_for_epo([BICYCLE])
    assert row["conversations"] == [
        {"from": "system", "value": "You buy a bicycle."},
        {"from": "human", "value": "80?"},
        {"from": "gpt", "value": "60.", "score": "-0.2"},
        {"from": "human", "value": "70?"},
        {"from": "gpt", "value": "Deal.", "score": "0.0"},
    ]
    assert parse(row, **EPO) == BICYCLE
    turns = row["conversations"]
    turns[2]["score"], turns[4]["score"] = None, 0.0
    assert parse(row, **EPO) == BICYCLE.model_copy(update={"weights": (None, 0.0)})
    turns[4].pop("score")
    assert isinstance(parse(row, **EPO), ChatDatum)


@pytest.mark.parametrize("score", ["good", [1]])
def test_a_score_that_is_not_a_number_is_refused(score):
    (row,) = format_records_for_epo([BICYCLE])
    row["conversations"][2]["score"] = score
    with pytest.raises(DatasetFormatError, match="expected numbers"):
        parse(row, **EPO)


def test_sharegpt_preferences_and_tags_become_prompted_records():
    turns = [
        {"from": "human", "value": "a"},
        {"from": "gpt", "value": "b"},
        {"from": "human", "value": "Q"},
    ]
    better, worse = {"from": "gpt", "value": "A"}, {"from": "gpt", "value": "B"}
    assert parse(
        {"conversations": turns, "chosen": better, "rejected": worse},
        formatting="sharegpt",
        ranking=True,
        columns={"messages": "conversations", "chosen": "chosen", "rejected": "rejected"},
    ) == PreferenceDatum(instruction="Q", history=(("a", "b"),), chosen="A", rejected="B")
    assert parse(
        {"conversations": [*turns, worse], "label": False},
        formatting="sharegpt",
        columns={"messages": "conversations", "kto_tag": "label"},
    ) == KTODatum(instruction="Q", history=(("a", "b"),), output="B", desirable=False)


ALPACA = {"columns": {"prompt": "q", "response": "a", "history": "h", "tools": "t"}}
SHAREGPT = {"formatting": "sharegpt"}
KTO = {"columns": {"prompt": "q", "response": "a", "kto_tag": "k", "tools": "t"}}
RANKING = {
    "formatting": "sharegpt",
    "ranking": True,
    "columns": {"messages": "m", "chosen": "c", "rejected": "r"},
}
SCORED = {"formatting": "sharegpt", "columns": {"messages": "m", "weights": "w"}}
USER, BOT = {"from": "human", "value": "Q"}, {"from": "gpt", "value": "A"}
CALL = {"from": "function_call", "value": '{"name": "f", "arguments": {}}'}


@pytest.mark.parametrize(
    ("row", "entry", "message"),
    [
        ({"q": "Q", "a": 5}, ALPACA, "column 'a'.*5"),
        ({"q": "Q", "a": "A", "h": [["a"]]}, ALPACA, "column 'h' holds"),
        ({"q": "Q", "a": "A", "t": "{}"}, ALPACA, "column 't' holds {}, expected a list"),
        ({"q": "Q", "a": "A", "k": True, "t": "[1]"}, KTO, "expected none: preference"),
        ({"conversations": []}, SHAREGPT, "'conversations' holds"),
        ({"m": [USER, BOT], "c": BOT, "r": BOT}, RANKING, "2 turns before the answer"),
        ({"m": [USER], "c": CALL, "r": BOT}, RANKING, "'c' holds .*'assistant'"),
        ({"m": [USER, BOT]}, SCORED, "weights"),
        ({"q": "Q", "a": "A", "k": "x"}, KTO, "desirable"),
        ({"m": [BOT], "c": BOT, "r": BOT}, RANKING, "'m' holds .*'user'"),
    ],
)
def test_an_error_names_the_column_and_the_expected_value(row, entry, message):
    with pytest.raises((DatasetFormatError, InvalidRecordError), match=message):
        parse(row, **entry)
