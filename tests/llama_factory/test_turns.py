"""A message and its sharegpt turn mean the same, whatever stands in them."""

from __future__ import annotations

import json

import pytest

from dataenvgym.errors import DatasetFormatError, InvalidRecordError
from dataenvgym.llama_factory.turns import TAGS, format_turn, parse_turn
from dataenvgym.records import Message, ToolCall


@pytest.mark.parametrize(
    "message",
    [
        Message(role="user", content="Hi \u2028\U0001f600\x00"),
        Message(role="assistant", content=""),
        Message(role="assistant", content='{"name": "not a call"}'),
        Message(role="tool", content="<tool_call>{}</tool_call>"),
        Message(role="assistant", content="", tool_calls=(ToolCall(name="f"),)),
        Message(
            role="assistant",
            content="I look.\n",
            tool_calls=(
                ToolCall(name="f", arguments={"x": "</tool_call><tool_call>é", "n": [1, None]}),
                ToolCall(name="g", arguments={"deep": {"big": 2**62}}),
            ),
        ),
        Message(
            role="assistant",
            content="<think>\nhm\n</think>\n\n",
            tool_calls=(ToolCall(name="f", arguments={"x": 1}),),
        ),
    ],
)
def test_a_message_survives_being_a_turn(message: Message) -> None:
    assert Message(**parse_turn(format_turn(message, 0), TAGS, "turn")) == message


def test_one_call_is_a_json_object_and_several_are_a_list() -> None:
    call = ToolCall(name="f", arguments={"x": 1})
    one = format_turn(Message(role="assistant", content="", tool_calls=(call,)), 0)
    two = format_turn(Message(role="assistant", content="", tool_calls=(call, call)), 0)
    assert one == {"from": "function_call", "value": '{"name": "f", "arguments": {"x": 1}}'}
    assert json.loads(two["value"]) == [json.loads(one["value"])] * 2


def test_text_stands_before_the_marked_calls() -> None:
    message = Message(
        role="assistant", content="I look. ", tool_calls=(ToolCall(name="f", arguments={}),)
    )
    assert format_turn(message, 0)["value"] == (
        'I look. <tool_call>{"name": "f", "arguments": {}}</tool_call>'
    )


def test_text_with_the_marker_in_it_is_refused_beside_calls() -> None:
    message = Message(role="assistant", content="<tool_call>", tool_calls=(ToolCall(name="f"),))
    with pytest.raises(InvalidRecordError, match="<tool_call>") as caught:
        format_turn(message, 3)
    assert caught.value.field == "messages.3.content"


def test_a_thought_before_unmarked_calls_is_text() -> None:
    value = '<think>\nhm\n</think>\n\n{"name": "f", "arguments": {}}'
    message = parse_turn({"from": "function_call", "value": value}, TAGS, "turn")
    assert message["content"] == "<think>\nhm\n</think>\n\n"
    assert message["tool_calls"] == [{"name": "f", "arguments": {}}]


def test_other_peoples_tags_are_understood() -> None:
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user"}
    assert parse_turn({"role": "user", "content": "Hi"}, tags, "turn") == {
        "role": "user",
        "content": "Hi",
    }


@pytest.mark.parametrize(
    ("turn", "message"),
    [
        ("Hi", "turn 2 is 'Hi', expected an object"),
        ({"from": "user", "value": "Hi"}, r"turn 2, key 'from' is 'user', expected one of \["),
        ({"value": "Hi"}, "turn 2, key 'from' is None, expected one of"),
        ({"from": "human", "value": 3}, "turn 2, key 'value' is 3, expected a string"),
        ({"from": "function_call", "value": "f(x)"}, r"turn 2, the function call is .* JSON"),
        ({"from": "function_call", "value": '{"f": 1}'}, "expected an object with 'name' and 'arg"),
    ],
)
def test_an_error_says_what_was_found_and_what_was_expected(turn: object, message: str) -> None:
    with pytest.raises(DatasetFormatError, match=message):
        parse_turn(turn, TAGS, "turn 2")
