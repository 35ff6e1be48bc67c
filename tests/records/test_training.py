"""Valid and invalid training records."""

import pytest
from pydantic import ValidationError

from dataenvgym.records import (
    ChatDatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    Tool,
    ToolCall,
    parse_training_datum,
)

RECORD = SupervisedDatum(instruction="q", input="x", system="s", history=(("a", "b"),), output="y")


def test_results_in_a_row_are_one_turn_and_so_are_users_with_names():
    call = Message(role="assistant", content="", tool_calls=(ToolCall(name="add"),))
    asked, end = Message(role="user", content="q"), Message(role="assistant", content="a")
    result, named = Message(role="tool", content="r"), asked.model_copy(update={"name": "Ann"})
    for turn in ((result, result), (named, named), (result, asked)):
        assert ChatDatum(messages=(asked, call, *turn, end)).messages[-2] == turn[-1]
    calling = asked.model_copy(update={"tool_calls": (ToolCall(name="add"),)})
    wrongs = ((asked, asked, end), (asked, end, end), (result, end), (asked, call, result))
    for wrong in (*wrongs, (calling, end), (end, asked)):
        with pytest.raises(ValidationError, match="expected"):
            ChatDatum(messages=wrong)


def test_a_chat_declares_its_tools_on_the_first_message_of_the_conversation():
    tool, asked, end = (
        Tool(name="f"),
        Message(role="user", content="q"),
        Message(role="assistant", content="a"),
    )
    chat = ChatDatum(messages=(asked, end), tools=(tool,))
    declared = asked.model_copy(update={"tools": (tool,)})
    assert chat.conversation == (declared, end)
    system = Message(role="system", content="s", tools=(tool,))
    assert chat.model_copy(update={"system": "s"}).conversation == (system, asked, end)
    with pytest.raises(ValidationError, match="tools, expected"):
        ChatDatum(messages=(declared, end))


def test_a_tool_may_be_given_in_openais_form():
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    assert Tool.model_validate({"type": "function", "function": function}) == Tool(**function)
    with pytest.raises(ValidationError, match="strict"):
        Tool(**function, strict=True)  # type: ignore[call-arg]


def test_a_message_without_tools_and_name_is_written_without_them():
    message = Message(role="user", content="q")
    assert message.model_dump_json() == '{"role":"user","content":"q","tool_calls":[]}'
    full = message.model_copy(update={"tools": (Tool(name="f"),), "name": "Ann"})
    assert Message.model_validate_json(full.model_dump_json()) == full


def test_the_prompt_has_system_history_and_input_in_their_places():
    assert [(m.role, m.content) for m in RECORD.prompt] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "q\nx"),
    ]


CALL = ToolCall(name="f", arguments={"x": 1})
TURNS = (
    Message(role="user", content="q"),
    Message(role="assistant", content="", tool_calls=(CALL,)),
    Message(role="tool", content="3"),
)
SAYS_IT = Message(role="assistant", content="3")
CALLS_AGAIN = Message(role="assistant", content="", tool_calls=(CALL,))


def test_a_preference_for_a_turn_of_a_conversation_keeps_its_calls_and_tools():
    pair = PreferenceDatum(
        messages=TURNS, tools=(Tool(name="f"),), system="s", chosen="3", rejected=(CALLS_AGAIN,)
    )
    declared = Message(role="system", content="s", tools=(Tool(name="f"),))
    assert pair.prompt == (declared, *TURNS)
    assert tuple(side[0] for side in pair.segments) == (SAYS_IT, CALLS_AGAIN)
    assert parse_training_datum(pair.model_dump(mode="json")) == pair


def test_an_answer_that_calls_nothing_is_its_text():
    one, other = (
        PreferenceDatum(instruction="q", chosen=chosen, rejected="n")
        for chosen in ("3", [SAYS_IT.model_dump()])
    )
    assert one == other
    with pytest.raises(ValidationError, match="same text"):
        PreferenceDatum(instruction="q", chosen="3", rejected=(SAYS_IT,))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"messages": ()}, "instruction is empty, expected text in it, or messages"),
        ({"messages": (), "instruction": "q", "tools": (Tool(name="f"),)}, "tools without"),
        ({"instruction": "q"}, "expected one prompt"),
        ({"history": (("a", "b"),)}, "expected one prompt"),
        ({"messages": TURNS[:2]}, "messages ends with the assistant's turn"),
        ({"messages": TURNS[1:]}, r"messages\[0\] has role 'assistant', expected 'user'"),
        ({"chosen": ""}, "at least 1"),
        ({"chosen": (TURNS[0],)}, "it has role 'user'"),
        ({"chosen": (Message(role="assistant", content=""),)}, "it is empty"),
        ({"chosen": (CALLS_AGAIN, CALLS_AGAIN)}, "role 'assistant' again"),
        ({"chosen": (SAYS_IT, TURNS[0])}, "role 'user'"),
        ({"chosen": 3}, "valid string"),
    ],
)
def test_a_preference_that_cannot_be_is_refused(changes, said):
    fields = {"messages": TURNS, "chosen": "3", "rejected": (CALLS_AGAIN,), **changes}
    with pytest.raises(ValidationError, match=said):
        PreferenceDatum(**fields)


AGAIN = Message(role="user", content="again")


def test_an_answer_may_be_a_segment_of_several_turns():
    pair = PreferenceDatum(
        messages=TURNS, chosen=(SAYS_IT, AGAIN, SAYS_IT), rejected=(CALLS_AGAIN, TURNS[2], SAYS_IT)
    )
    assert [len(segment) for segment in pair.segments] == [3, 3]
    assert tuple(side[0] for side in pair.segments) == (SAYS_IT, CALLS_AGAIN)
    assert parse_training_datum(pair.model_dump(mode="json")) == pair
    shorter = pair.model_copy(update={"chosen": SAYS_IT.content})
    assert parse_training_datum(shorter.model_dump(mode="json")) == shorter


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1.0,), "weights has 1 items, expected 2"),
        ((1.0, float("inf")), "finite"),
    ],
)
def test_each_turn_has_one_finite_weight_or_none(weights, message):
    with pytest.raises(ValidationError, match=message):
        ScoredDatum(messages=(*TURNS[:2], TURNS[2], SAYS_IT), weights=weights)
