"""Messages about malformed calls."""

import random

import pytest

from dataenvgym.records import Message, Tool
from dataenvgym.records.tool_formats import TOOL_FORMATS, malformed_call, read_reply

DECLARED = (Message(role="user", content="?", tools=(Tool(name="f"),)),)
ENDS = "the JSON of the call ends too early"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<tool_call>\n{"name": "f", "arguments": {"a": 1}', f"{ENDS} (line 2, column 36)"),
        ('<tool_call>{"name": "f"</tool_call>', f"{ENDS} (line 1, column 24)"),
        ("<tool_call>{'name': 'f'}</tool_call>",
         "the JSON of the call is malformed (line 1, column 13): expecting property name enclosed "
         "in double quotes"),
        ('<tool_call>{"name": "g", "arguments": {}} Well.',
         "</tool_call> is missing behind the JSON of the call"),
        ("<tool_call>f(1)</tool_call>", "no JSON object or list follows <tool_call>"),
        ('<tool_call>["f", {}]</tool_call>', "the JSON of the call is not an object"),
        ("<tool_call>[]</tool_call>", "no call is in []"),
        ('<tool_call>{"arguments": {}}</tool_call>',
         'the call has no "name" that is the name of a tool'),
        ('<tool_call>{"name": "f", "arguments": "x"}</tool_call>',
         "the arguments of f are not a JSON object"),
        ('<tool_call>{"name": "f", "arguments": {"x": NaN}}</tool_call>',
         "the JSON of the call has a number that is too long, NaN or Infinity"),
        ('<tool_call>{"name": "f", "arguments": {"x": 1e400}}</tool_call>',
         "x in the call of f: no JSON that every reader has: NaN or infinity in it"),
        ("Action: f", '"Action: f" has no "Action Input:" behind it'),
        ("Thought: go\nAction Input: {}",
         '"Action Input:" has no "Action:" with the name of a tool before it'),
        ("Action: f\ng\nAction Input: {}",
         'the name of the tool after "Action:" is not in one line'),
        ("Action: f\nAction Input: 3", "no JSON object follows Action Input:"),
        ('Action: f\nAction Input: {"a": ', f"{ENDS} (line 2, column 21)"),
        ('<tool_call>{"name": "f", "arguments": ' + '{"a": ' * 5000 + "1" + "}" * 5001,
         "the JSON of the call is nested too deeply"),
        (f'<tool_call>{{"name": "f", "arguments": {{"x": 1{"0" * 5000}}}}}</tool_call>',
         "the JSON of the call has a number that is too long, NaN or Infinity"),
        ("[TOOL_CALLS] f", "no JSON object or list follows [TOOL_CALLS]"),
        ('Now:\n```json\n{"name": "f", "parameters": {"a": 1}', f"{ENDS} (line 3, column 37)"),
        ('{"tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}',
         "the arguments of f are not a JSON object"),
        ('{"name": "f", "arguments": {}} gives 3.',
         "text follows the JSON of the call, which must come last"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_read_is_explained(text, fault):
    assert read_reply(DECLARED, text).message == Message(role="assistant", content=text)
    assert malformed_call(text) == fault


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "The order is on its way.", "No action: nothing to do.", "{}", "[1, 2]"),
        *('{"name": "Bob", "age": 3}', '{"answer": 3', "```json\n{}\n```", "2 < 3 > 1"),
        *("Action: I will send the parcel back tomorrow.", "It came.\nAction: Refunded"),
        'The JSON {"name": "f", "arguments": {}} is how tools are called.',
        "<think><tool_call>{</think>No.",
    ],
)
def test_an_ordinary_text_has_no_fault(text):
    assert malformed_call(text) is None


def test_only_unread_calls_are_explained():
    good, bad = '<tool_call>{"name": "f", "arguments": {}}</tool_call>', "<tool_call>{</tool_call>"
    assert malformed_call(good) is None
    assert "line 1, column 13" in str(malformed_call(good + bad))
    message = read_reply(DECLARED, good + bad).message
    assert message.tool_calls
    assert malformed_call(message.content) == malformed_call(bad)
    quoted = (
        '<tool_call>{"name": "f", "arguments": {"a": "Action Input: [TOOL_CALLS]"}}</tool_call>'
    )
    assert malformed_call(quoted) is None


def test_a_megabyte_gets_a_short_sentence():
    many = "é" * 1_000_000
    for text in (
        f"<tool_call>{many}",
        f'<tool_call>{{"name": "{many}", "arguments": 3}}</tool_call>',
        f'<tool_call>{{"name": "f", "arguments": {{"{many}": 1e400}}}}</tool_call>',
        f"Action: f{many}",
        f"Action: f\nAction Input: {many}",
        f"Action: f\nAction Input: {'[' * 1_000_000}",
        f"[TOOL_CALLS]{'[' * 1_000_000}",
        f'{{"name": "{many}", "arguments": 3}}',
        f'{{"name": "f", "arguments": {"[" * 1_000_000}',
    ):
        fault = malformed_call(text)
        assert fault is not None
        assert 10 < len(fault) <= 200


def test_nothing_that_a_student_says_makes_it_raise():
    rng = random.Random(3)
    pieces = (
        *("<tool_call>", "</tool_call>", "[TOOL_CALLS]", "Action:", " f\n", "Action Input:", "```"),
        *('{"name": ', '"f"', ', "arguments": ', "{", "}", "[", "]", '"', "\\", "\n", "1e999", "-"),
        *('{"tool_calls": ', '"function": ', "\ud800", "\x00", "null", ", ", ": ", "<think>"),
    )
    for _ in range(3000):
        text = "".join(rng.choices(pieces, k=rng.randint(1, 12)))
        fault = malformed_call(text)
        assert fault is None or len(fault) <= 200
        if "\ud800" not in text:
            read_reply(DECLARED, text)
            for known in TOOL_FORMATS.values():
                known.parse(text)
