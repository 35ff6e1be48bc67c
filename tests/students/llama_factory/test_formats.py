"""Every kind of record has exactly the row, and the entry, that LLaMA-Factory documents."""

from typing import Any

import pytest

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    Provenance,
    SupervisedDatum,
    TextDatum,
    ToolCall,
)
from dataenvgym.records.tool_formats import HERMES, LLAMA_FACTORY
from dataenvgym.students.llama_factory.formats import row_of

SUPERVISED = SupervisedDatum(
    instruction="Add.",
    input="2 3",
    output="5",
    system="Be brief.",
    history=(("Hi", "Hello"), ("1 1", "2")),
    provenance=Provenance(id="r1", skill="addition", agent="random", iteration=3),
)
BARE = SupervisedDatum(instruction="Add 2 and 3.", output="5")
PREFERENCE = PreferenceDatum(
    instruction="Add.", input="2 3", chosen="5", rejected="6", history=(("Hi", "Hello"),)
)
KTO = KTODatum(instruction="Add 2 and 3.", output="6", desirable=False, system="Be brief.")
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "parameters": {"type": "object"}},
}
CHAT = ChatDatum(
    messages=(
        Message(role="user", content="Add 2 and 3, and 4 and 5."),
        Message(
            role="assistant",
            content="",
            tool_calls=(
                ToolCall(name="add", arguments={"a": 2, "b": 3}),
                ToolCall(name="add", arguments={"a": 4, "b": 5}),
            ),
        ),
        Message(role="tool", content="5, 9"),
        Message(role="assistant", content="5 and 9."),
    ),
    system="Use tools.",
    tools=(TOOL,),
)


def alpaca(instruction: str, input: str = "", **columns: Any) -> dict[str, Any]:
    """An alpaca row, which has all columns of its kind."""
    return {"instruction": instruction, "input": input, "system": "", "history": [], **columns}


HISTORY = [["Hi", "Hello"], ["1 1", "2"]]


@pytest.mark.parametrize(
    ("record", "row"),
    [
        # without its provenance
        (SUPERVISED, alpaca("Add.", "2 3", output="5", system="Be brief.", history=HISTORY)),
        (BARE, alpaca("Add 2 and 3.", output="5")),
        (PREFERENCE, alpaca("Add.", "2 3", chosen="5", rejected="6", history=HISTORY[:1])),
        (KTO, alpaca("Add 2 and 3.", output="6", kto_tag=False, system="Be brief.")),
        (TextDatum(text="Once."), {"text": "Once."}),
    ],
)
def test_a_record_is_the_alpaca_row_of_its_stage(record, row):
    assert row_of(record, LLAMA_FACTORY) == row


@pytest.mark.parametrize("form", [HERMES, LLAMA_FACTORY])
def test_a_preference_for_a_turn_with_tools_is_plain_turns_in_the_students_format(form):
    ask, call, result, end = CHAT.messages
    pair = PreferenceDatum(
        messages=(ask, call, result),
        system=CHAT.system,
        tools=CHAT.tools,
        chosen=end.content,
        rejected=(call,),
    )
    system, _, said, heard = form.flatten(pair.prompt)
    assert row_of(pair, form) == alpaca(
        heard.content,
        chosen=end.content,
        rejected=said.content,
        system=system.content,
        history=[[ask.content, said.content]],
    )
    assert "add" in system.content
    assert "add" in said.content
