import pytest

from dataenvgym.domains.tool_use.calls.problem import as_text, from_text
from dataenvgym.records import Message, Tool, ToolCall

TOOLS = (
    Tool(name="a.b", description="Does\nit.", parameters={"type": "object", "properties": {}}),
    Tool(name="c"),
)
CALL = ToolCall(name="a.b", arguments={"x": [1, "zwölf"]})


@pytest.mark.parametrize(
    "messages",
    [
        (Message(role="user", content="What?\n\nOn two lines."),),
        (Message(role="user", content="User: quoted"),),
        (Message(role="user", content=""),),
        (
            Message(role="user", content="Do it."),
            Message(role="assistant", content="Wait.", tool_calls=(CALL, CALL)),
            Message(role="tool", content="one\nmore"),
            Message(role="tool", content="two"),
            Message(role="assistant", content="", tool_calls=(CALL,)),
            Message(role="tool", content=""),
            Message(role="assistant", content="Done.\nReally."),
            Message(role="user", content="Again?"),
        ),
    ],
)
@pytest.mark.parametrize("tools", [TOOLS, ()])
def test_a_conversation_with_tools_can_be_read_back(messages, tools):
    assert from_text(as_text(messages, tools)) == (messages, tools)


@pytest.mark.parametrize(
    "text",
    [
        "Hi.\n\nTools:\nnone",
        "User: Hi.\nCall: add(1, 2)",
        'User: Hi.\nCall: {"arguments": {}}',
    ],
)
def test_text_that_cannot_be_read_is_not_a_problem(text):
    assert from_text(text) is None
