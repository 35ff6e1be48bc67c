"""The pocket students' format: calls in a few words."""

import pytest

from dataenvgym.records import Message, Tool, ToolCall
from dataenvgym.records.tool_formats import POCKET, malformed_call, read_reply

TOOLS = (Tool(name="carry"), Tool(name="get weather"), Tool(name="f"), Tool(name="g"))
ASKED = (Message(role="user", content="q", tools=TOOLS),)


def said(text: str) -> Message:
    return Message(role="assistant", content=text)


def test_a_conversation_takes_few_words():
    calls = (
        ToolCall(name="carry", arguments={"item": "tea", "place": "mill"}),
        ToolCall(name="pack", arguments={"items": ["tea", "rice"], "n": 3, "now": True}),
    )
    chat = (
        *ASKED,
        Message(role="assistant", content="", tool_calls=calls),
        Message(role="tool", content="ok"),
        Message(role="tool", content="4"),
        said("done"),
    )
    assert [(m.role, m.content) for m in POCKET.flatten(chat)] == [
        ("system", ' carry "get weather" f g'),
        ("user", "q"),
        ("assistant", "##carry item tea place mill\n##pack items tea, rice n 3 now true"),
        ("user", "= ok\n= 4"),
        ("assistant", "done"),
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("##f", {}),
        ("##f a b", {"a": "b"}),
        ("##f a 5 b -2.5 c 1e3", {"a": 5, "b": -2.5, "c": 1000.0}),
        ('##f a "5" b "two words" c "true"', {"a": "5", "b": "two words", "c": "true"}),
        ("##f a null b false", {"a": None, "b": False}),
        ('##f a 1, two, "3"', {"a": [1, "two", "3"]}),
        ('##f a [] b [1] c {"x": [1, 2]}', {"a": [], "b": [1], "c": {"x": [1, 2]}}),
        ('##"f" "odd name" x', {"odd name": "x"}),
    ],
)
def test_values_are_words_numbers_lists_or_json(text, arguments):
    (call,) = read_reply(ASKED, text).message.tool_calls
    assert call.name == "f"
    assert call.arguments == arguments
    (written,) = POCKET.flatten((Message(role="assistant", content="", tool_calls=(call,)),))
    assert POCKET.parse(written.content).tool_calls == (call,)


@pytest.mark.parametrize(
    "text",
    [
        *("#### 7", "## carry item tea", "###carry item tea", "##", "##7 a b", "##f a", "##f a,"),
        *("##f a b,c", "##f a  b", "##f a 1, ", '##f a "b', "##f a [1", "##f a 1.2.3", "##f 3 b"),
        "##f a " + "[" * 100_000,
    ],
)
def test_text_without_a_call_stays_text(text):
    assert read_reply(ASKED, text).message == said(text)


def test_a_line_without_a_call_hides_no_other_one():
    message = read_reply(ASKED, "I do. ##f a\n##g b c\nSo.").message
    assert message.content == "I do. ##f a\n\nSo."
    assert [call.name for call in message.tool_calls] == ["g"]
    assert read_reply(ASKED, "##Results of today\nAll is well.").message.tool_calls == ()


@pytest.mark.parametrize("text", ["##f a", " ##carry item tea place\n", '##"f', "##f a [1"])
def test_a_call_that_cannot_be_read_is_explained_and_other_texts_try_none(text):
    assert "is not a call: write ##tool" in (malformed_call(text) or "")
    for other in ("#### 7", "##Results", "##f a b", "## f", f"{text}\nSo.", f"a {text}"):
        assert malformed_call(other) is None
