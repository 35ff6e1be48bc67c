"""JSON that is a call, and JSON that is an answer."""

import json
import time
from typing import Any

import pytest

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import (
    LLAMA3,
    MISTRAL,
    NATIVE,
    as_function,
    malformed_call,
    read_reply,
)

ADD = Tool(name="add", parameters={"type": "object", "properties": {"a": {"type": "integer"}}})
NOW = Tool(name="now")
DECLARED = (Message(role="user", content="1 + 1?", tools=(ADD, NOW)),)
ONE = ToolCall(name="add", arguments={"a": 1})
TWO = ToolCall(name="add", arguments={"a": 2})


def read(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    message = read_reply(DECLARED, text).message
    return message.content, message.tool_calls


def written(call: ToolCall = ONE, key: str = "arguments") -> str:
    return json.dumps({"name": call.name, key: call.arguments})


def openai(*calls: ToolCall, **more: Any) -> str:
    written = [{"name": call.name, "arguments": json.dumps(call.arguments)} for call in calls]
    listed = [{"id": "call_0", "type": "function", "function": one} for one in written]
    return json.dumps({**more, "tool_calls": listed})


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (written(), "", 1),
        (json.dumps({"name": "add", "arguments": {"a": 1}}, indent=4), "", 1),
        ('{"type": "function", "name": "add", "arguments": "{\\"a\\": 1}"}', "", 1),
        ('{"arguments": {"a": 1}, "name": "add", "id": "x1"}', "", 1),
        (f"[{written()}, {written(TWO)}]", "", 2),
        (f"{written()}\n{written(TWO)}\n", "", 2),
        (f"```json\n{written()}\n```", "", 1),
        (f"I add.\n\n```\n[{written()}]\n```\n", "I add.\n\n", 1),
        (f"```json\n{written()}\n```\n```json\n{written(TWO)}\n```", "", 2),
        (f"I add {{both}}: {written()}", "I add {both}: ", 1),
        (f'{{"thought": "I add."}} {written()}', '{"thought": "I add."} ', 1),
        (f"<|python_tag|>{written(key='parameters')}", "", 1),
        (f"<think>{written(TWO)}</think>\n{written()}", f"<think>{written(TWO)}</think>\n", 1),
        (openai(ONE, TWO), "", 2),
        (openai(ONE, role="assistant", content=None), "", 1),
        (openai(ONE, role="assistant", content="I add."), "I add.", 1),
        (f'{{"function": {written()}, "type": "function"}}', "", 1),
        (f'{{"tool_calls": [{written()}, {written(TWO)}]}}', "", 2),
        (f"[TOOL_CALLS] [{written()}]", "", 1),
        (f"[TOOL_CALLS]{written()}", "", 1),
        (f"[TOOL_CALLS][{written()}, {written(TWO)}] Wait.", " Wait.", 2),
        (f'<tool_call>{written(key="parameters")}</tool_call>', "", 1),
    ],
)  # fmt: skip
def test_calls_are_read_in_the_forms_that_models_write(text, content, calls):
    assert read(text) == (content, (ONE, TWO)[:calls])
    assert malformed_call(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bob", "arguments": {"for": "yes", "against": "no"}}',  # no tool's name
        '{"name": "add"}',
        '{"name": "now", "arguments": {}, "description": "Tells the time."}',
        '{"answer": {"name": "add", "arguments": {"a": 1}}}',
        '{"name": "add", "arguments": {"a": 1}, "result": 2}',
        '[{"name": "add", "arguments": {"a": 1}}, {"name": "sum", "value": 2}]',
        'I used {"name": "add", "arguments": {"a": 1}} and got 2.',
        'I called:\n```json\n{"name": "add", "arguments": {"a": 1}}\n```\nThe sum is 2.',
        json.dumps(as_function(ADD)),  # what tools there are
        json.dumps({"name": "add", "parameters": ADD.parameters}),
        json.dumps([ADD.model_dump(), NOW.model_dump()]),
        '{"tools": [{"name": "add", "parameters": {"a": 1}}]}',
        '{"tool_calls": []}',
        '{"tool_calls": [{"function": {"name": "add"}}]}',
        '["add", {"a": 1}]',
        '"name" is a word, and {"a": 1} is JSON: {}',
        '{"name": "add", "parameters": {"a": 1}',
        '{"name": "add", "arguments": {"a": 1}, "parameters": {"a": 1}}',
        '{"name": "add", "arguments": [1]}',
        "{'name': 'add', 'arguments': {'a': 1}}",
        f'{{"name": "add", "arguments": {"[" * 100_000}',
        f'{{"name": "add", "arguments": {"[" * 100_000}{"]" * 100_000}}}',
    ],
)  # fmt: skip
def test_json_that_does_not_call_a_declared_tool_is_an_answer(text):
    assert read(text) == (text, ())


def test_bare_json_is_a_call_only_of_a_declared_tool_and_marked_json_of_any_other_too():
    for text in (written(), openai(ONE), f"[TOOL_CALLS][{written()}]"):
        assert not read_reply(
            (DECLARED[0].model_copy(update={"tools": ()}),), text
        ).message.tool_calls
    other = ToolCall(name="minus", arguments={"a": 1})
    for text in (openai(other), f"[TOOL_CALLS][{written(other)}]"):
        assert read(text) == ("", (other,))
    assert read(written(other)) == (written(other), ())


def test_the_input_of_a_call_in_lines_is_not_a_separate_call():
    _, calls = read(f"Action: now\nAction Input: {written()}")
    assert calls == (ToolCall(name="now", arguments=json.loads(written())),)
    assert read(f"Action: now\nAction Input: ```json\n{written()}\n```")[1] == calls
    quoted = ToolCall(name="add", arguments={"a": "Action: now\nAction Input: {}"})
    assert read(written(quoted)) == ("", (quoted,))


def test_arguments_of_a_megabyte_are_read():
    values: tuple[Any, ...] = ("x" * 1_000_000, [1] * 300_000, '"\\\n' * 300_000)
    for value in values:
        call = ToolCall(name="add", arguments={"a": value})
        before = time.process_time()
        for form in (LLAMA3, MISTRAL, NATIVE):
            (message,) = form.flatten((Message(role="assistant", content="", tool_calls=(call,)),))
            text = message.content or openai(call)
            assert read(text) == ("", (call,))
        assert time.process_time() - before < 15


UNITS = (
    *('{"name":', '{"name": "', '{"name": {', '[{"name": [', '{"name": "add", "arguments": {',
      '{"name": "add", "arguments": {}}, ', '[{"name": "add", "arguments": {}}', "```json\n",
      '{"tool_calls": [', '{"tool_calls": [{"function": ', "[TOOL_CALLS]", "[TOOL_CALLS][",
      '[TOOL_CALLS]{"', "<|python_tag|>", "Action Input: ", "[ ", "{ ", '{"name"', '\\"', " ", "`",
      "Action: a\n", '<tool_call>{"name": "', '"arguments":'),
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_hostile_reply_is_read_in_time(unit):
    """Processor time is measured; a pattern that is not linear takes minutes."""
    for begin, end in (("", ""), ('{"name": "add", "arguments": ', "}"), ("", "\n```")):
        text = begin + unit * (40_000 // len(unit)) + end
        before = time.process_time()
        read_reply(DECLARED, text)
        fault = malformed_call(text)
        assert time.process_time() - before < 3
        assert fault is None or len(fault) <= 200
