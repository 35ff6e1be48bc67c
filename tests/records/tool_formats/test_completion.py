import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message, Tool
from dataenvgym.records.tool_formats import COMPLETION, is_completion

ASK = Message(role="user", content="Q: 1+1?\nA:")
REPLY = Message(role="assistant", content="2")


def test_the_prompt_is_the_bare_text_after_the_system_message():
    assert COMPLETION.flatten((ASK,)) == (ASK,)
    (prompt,) = COMPLETION.flatten((Message(role="system", content="Add."), ASK))
    assert prompt.content == "Add.\n\nQ: 1+1?\nA:"
    assert COMPLETION.parse("<tool_call>").content == "<tool_call>"


@pytest.mark.parametrize(
    ("conversation", "found"),
    [
        ((ASK, REPLY, ASK), "3 turns"),
        ((*[Message(role="system", content="Add.")] * 2, ASK), "2 turns"),
        ((ASK.model_copy(update={"tools": (Tool(name="add"),)}),), "tools or names"),
        ((ASK.model_copy(update={"name": "Ann"}),), "tools or names"),
    ],
)
def test_what_is_not_one_text_is_refused_with_the_ways_out(conversation, found):
    with pytest.raises(ConfigurationError, match=f"{found}.*format=chat"):
        COMPLETION.flatten(conversation)


def test_a_tool_format_without_effect_is_refused():
    assert is_completion("completion", None)
    assert not is_completion("chat", "hermes")
    with pytest.raises(ConfigurationError, match="hermes"):
        is_completion("completion", "hermes")
    with pytest.raises(ConfigurationError, match="format is 'text'"):
        is_completion("text", None)
