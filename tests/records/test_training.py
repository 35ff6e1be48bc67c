"""Training records, and what is refused as one."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from dataenvgym.records import ChatDatum, Message, PreferenceDatum, SupervisedDatum, ToolCall

RECORD = SupervisedDatum(instruction="q", input="x", system="s", history=(("a", "b"),), output="y")


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
        RECORD.output = "other"


def test_the_prompt_has_system_history_and_input_in_their_places():
    assert [(m.role, m.content) for m in RECORD.prompt] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
        ("user", "q\nx"),
    ]
