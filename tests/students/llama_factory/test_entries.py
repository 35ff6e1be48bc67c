"""Entries of `dataset_info.json` are read with LLaMA-Factory's own rules."""

import json

import pytest
from pydantic import ValidationError

from dataenvgym.errors import DatasetFormatError
from dataenvgym.students.llama_factory.entries import TAGS, DatasetEntry, parse_turn

ALPACA = {"prompt": "instruction", "query": "input", "response": "output"}


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ({}, {"formatting": "alpaca", "columns": {**ALPACA, "messages": "conversations"}}),
        # an entry that names some has no others
        ({"columns": {"prompt": "text"}}, {"columns": {"prompt": "text"}}),
        ({"columns": {"prompt": "text", "images": None}}, {"columns": {"prompt": "text"}}),
        ({"tags": {"role_tag": "role"}}, {"tags": {"role_tag": "role"}}),
        # which LLaMA-Factory ignores too
        ({"load_from": "file", "note": 1}, {"ranking": False, "tags": TAGS}),
    ],
)
def test_an_entry_has_the_defaults_of_llama_factory(named, expected):
    entry = DatasetEntry.model_validate({"file_name": "a.json", **named})
    assert {name: getattr(entry, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("a.json", "dictionary"),
        ({}, "file_name"),
        ({"file_name": "a.json", "num_samples": 5}, "num_samples"),
        ({"file_name": "a.json", "split": "test"}, "split"),
        ({"file_name": "a.json", "formatting": "jsonl"}, "formatting"),
        ({"file_name": "a.json", "columns": {"images": "i"}}, "images"),
        ({"file_name": "a.json", "columns": [[]]}, "columns"),
        ({"file_name": "a.json", "tags": [1], "formatting": "openai"}, "tags"),
    ],
)
def test_unsupported_options_are_refused(entry, message):
    with pytest.raises(ValidationError, match=message):
        DatasetEntry.model_validate(entry)


CALL = {"name": "f", "arguments": {"x": "é", "n": [1, None]}}


@pytest.mark.parametrize(
    ("value", "content", "count"),
    [
        (json.dumps(CALL), "", 1),
        (f"I look. <tool_call>{json.dumps(CALL)}</tool_call>", "I look. ", 1),
        (f"I look.\n<tool_call>{json.dumps([CALL, CALL])}</tool_call>", "I look.\n", 2),
        (f"<think>hm</think>\n{json.dumps([CALL, CALL])}", "<think>hm</think>\n", 2),
        (f"<think>a</think><tool_call>{json.dumps(CALL)}</tool_call>", "<think>a</think>", 1),
        (json.dumps({"name": "f", "arguments": json.dumps(CALL["arguments"])}), "", 1),
    ],
)
def test_calls_of_other_people_are_read(value, content, count):
    assert parse_turn({"from": "function_call", "value": value}, TAGS, "turn") == {
        "role": "assistant",
        "content": content,
        "tool_calls": [CALL] * count,
    }


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ("Hi", "turn 2 is 'Hi', expected an object"),
        ({"from": "user", "value": "Hi"}, r"turn 2, key 'from' is 'user', expected one of \["),
        ({"from": "function_call", "value": "f(x)"}, "turn 2, the function call: .* JSON"),
        ({"from": "function_call", "value": "<think>no end {}"}, "the function call: .* JSON"),
        (
            {"from": "function_call", "value": '{"name": "f", "arguments": "x"}'},
            "arguments .* JSON",
        ),
    ],
)
def test_an_error_gives_the_actual_and_the_expected_value(turn, message):
    with pytest.raises(DatasetFormatError, match=message):
        parse_turn(turn, TAGS, "turn 2")
