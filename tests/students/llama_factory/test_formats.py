"""Every kind of record has exactly the row, and the entry, that LLaMA-Factory documents."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
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
from dataenvgym.students.llama_factory import (
    dataset_info_entry,
    format_records,
)

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


def turns(*texts: str, **columns: Any) -> dict[str, Any]:
    """A sharegpt row of turns that alternate."""
    names = ("human", "gpt")
    said = [{"from": names[i % 2], "value": text} for i, text in enumerate(texts)]
    return {"conversations": said, "system": "", "tools": "", **columns}


def reply(text: str) -> dict[str, str]:
    return {"from": "gpt", "value": text}


sft, dpo, kto, pt = (partial(format_records, stage=s) for s in ("sft", "dpo", "kto", "pt"))
EARLIER = ("Hi", "Hello", "1 1", "2")
HISTORY = [["Hi", "Hello"], ["1 1", "2"]]


@pytest.mark.parametrize(
    ("rows", "record", "row"),
    [
        # without its provenance
        (sft, SUPERVISED, alpaca("Add.", "2 3", output="5", system="Be brief.", history=HISTORY)),
        (sft, BARE, alpaca("Add 2 and 3.", output="5")),
        (dpo, PREFERENCE, alpaca("Add.", "2 3", chosen="5", rejected="6", history=HISTORY[:1])),
        (kto, KTO, alpaca("Add 2 and 3.", output="6", kto_tag=False, system="Be brief.")),
        (pt, TextDatum(text="Once."), {"text": "Once."}),
    ],
)
def test_a_record_is_the_alpaca_row_of_its_stage(rows, record, row):
    assert list(rows([record])) == [row]


@pytest.mark.parametrize(
    ("rows", "record", "row"),
    [
        (sft, SUPERVISED, turns(*EARLIER, "Add.\n2 3", "5", system="Be brief.")),
        (dpo, PREFERENCE,
            turns("Hi", "Hello", "Add.\n2 3", chosen=reply("5"), rejected=reply("6"))),
        (kto, KTO, turns("Add 2 and 3.", "6", kto_tag=False, system="Be brief.")),
    ],
)  # fmt: skip
def test_a_record_with_a_prompt_has_a_sharegpt_row_too(rows, record, row):
    assert list(rows([record], formatting="sharegpt")) == [row]


@pytest.mark.parametrize("form", [HERMES, LLAMA_FACTORY], ids=["hermes", "llama_factory"])
def test_a_chat_record_is_a_sharegpt_row_with_its_calls_and_tools_as_text(form):
    system, asked, called, result, answer = form.flatten(CHAT.conversation)
    (row,) = sft([CHAT], formatting="sharegpt", tool_format=form)
    texts = (message.content for message in (asked, called, result, answer))
    assert row == turns(*texts, system=system.content)
    if form is LLAMA_FACTORY:
        assert row == next(sft([CHAT], formatting="sharegpt"))


def test_rows_are_made_one_at_a_time():
    asked: list[int] = []

    def records() -> Iterator[SupervisedDatum]:
        for i in range(3):
            asked.append(i)
            yield BARE

    rows = sft(records())
    next(rows)
    assert asked == [0]


def test_a_record_without_a_row_is_refused_by_its_index_and_kind():
    with pytest.raises(ConfigurationError, match=r"kto.*preference.*dpo"):
        list(dpo([PREFERENCE, KTO]))
    with pytest.raises(ConfigurationError, match="formatting"):
        list(sft([BARE, CHAT]))


PROMPT = {"prompt": "instruction", "query": "input", "system": "system", "history": "history"}
CONVERSATION = {"messages": "conversations", "system": "system", "tools": "tools"}
PAIR = {"chosen": "chosen", "rejected": "rejected"}


@pytest.mark.parametrize(
    ("stage", "formatting", "entry"),
    [
        ("sft", "alpaca", {"columns": {**PROMPT, "response": "output"}}),
        ("sft", "sharegpt", {"columns": CONVERSATION}),
        ("dpo", "alpaca", {"columns": {**PROMPT, **PAIR}, "ranking": True}),
        ("kto", "sharegpt", {"columns": {**CONVERSATION, "kto_tag": "kto_tag"}}),
        ("pt", None, {"columns": {"prompt": "text"}}),
    ],
)
def test_the_entry_names_the_columns_of_the_rows(stage, formatting, entry):
    named = {"formatting": formatting} if formatting else {}
    expected = {"file_name": "rows.jsonl", **named, **entry}
    assert dataset_info_entry(stage, formatting or "alpaca", "rows.jsonl") == expected


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
    assert list(dpo([PREFERENCE, pair], tool_format=form)) == [
        next(dpo([PREFERENCE])),
        alpaca(
            heard.content,
            chosen=end.content,
            rejected=said.content,
            system=system.content,
            history=[[ask.content, said.content]],
        ),
    ]
    assert "add" in system.content
    assert "add" in said.content
