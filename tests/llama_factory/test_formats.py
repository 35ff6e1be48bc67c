"""Every kind of record has exactly the row, and the entry, that LLaMA-Factory documents."""

from collections.abc import Iterator
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.llama_factory import (
    dataset_info_entry,
    format_records_for_llama_factory_dpo,
    format_records_for_llama_factory_kto,
    format_records_for_llama_factory_pt,
    format_records_for_llama_factory_sft,
)
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
from dataenvgym.tool_formats import HERMES, LLAMA_FACTORY

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


def test_a_supervised_record_is_an_alpaca_row_without_its_provenance():
    assert list(format_records_for_llama_factory_sft([SUPERVISED])) == [
        {
            "instruction": "Add.",
            "input": "2 3",
            "output": "5",
            "system": "Be brief.",
            "history": [["Hi", "Hello"], ["1 1", "2"]],
        }
    ]


def test_rows_have_the_same_columns_whether_a_record_uses_them_or_not():
    full, bare = format_records_for_llama_factory_sft([SUPERVISED, BARE])
    assert full.keys() == bare.keys()
    assert bare == {
        "instruction": "Add 2 and 3.",
        "input": "",
        "output": "5",
        "system": "",
        "history": [],
    }


@pytest.mark.parametrize("form", [HERMES, LLAMA_FACTORY], ids=["hermes", "llama_factory"])
def test_a_chat_record_is_a_sharegpt_row_with_its_calls_and_tools_as_text(form):
    system, asked, called, result, answer = form.flatten(CHAT.conversation)
    (row,) = format_records_for_llama_factory_sft([CHAT], formatting="sharegpt", tool_format=form)
    assert row == {
        "conversations": [
            {"from": "human", "value": asked.content},
            {"from": "gpt", "value": called.content},
            {"from": "human", "value": result.content},
            {"from": "gpt", "value": answer.content},
        ],
        "system": system.content,
        "tools": "",
    }


def test_a_chat_record_is_written_as_llama_factory_would_unless_told_otherwise():
    (row,) = format_records_for_llama_factory_sft([CHAT], formatting="sharegpt")
    assert row["conversations"][1]["value"].startswith("Action: add\nAction Input: {")


def test_a_supervised_record_has_a_sharegpt_row_with_the_columns_of_a_chat_record():
    chat, row = format_records_for_llama_factory_sft([CHAT, SUPERVISED], formatting="sharegpt")
    assert row.keys() == chat.keys()
    assert row == {
        "conversations": [
            {"from": "human", "value": "Hi"},
            {"from": "gpt", "value": "Hello"},
            {"from": "human", "value": "1 1"},
            {"from": "gpt", "value": "2"},
            {"from": "human", "value": "Add.\n2 3"},
            {"from": "gpt", "value": "5"},
        ],
        "system": "Be brief.",
        "tools": "",
    }


def test_a_preference_record_has_a_chosen_and_a_rejected_answer():
    assert list(format_records_for_llama_factory_dpo([PREFERENCE])) == [
        {
            "instruction": "Add.",
            "input": "2 3",
            "chosen": "5",
            "rejected": "6",
            "system": "",
            "history": [["Hi", "Hello"]],
        }
    ]
    assert list(format_records_for_llama_factory_dpo([PREFERENCE], formatting="sharegpt")) == [
        {
            "conversations": [
                {"from": "human", "value": "Hi"},
                {"from": "gpt", "value": "Hello"},
                {"from": "human", "value": "Add.\n2 3"},
            ],
            "chosen": {"from": "gpt", "value": "5"},
            "rejected": {"from": "gpt", "value": "6"},
            "system": "",
            "tools": "",
        }
    ]


def test_a_kto_record_has_its_tag():
    assert list(format_records_for_llama_factory_kto([KTO])) == [
        {
            "instruction": "Add 2 and 3.",
            "input": "",
            "output": "6",
            "kto_tag": False,
            "system": "Be brief.",
            "history": [],
        }
    ]
    assert list(format_records_for_llama_factory_kto([KTO], formatting="sharegpt")) == [
        {
            "conversations": [
                {"from": "human", "value": "Add 2 and 3."},
                {"from": "gpt", "value": "6"},
            ],
            "kto_tag": False,
            "system": "Be brief.",
            "tools": "",
        }
    ]


def test_plain_text_is_one_column():
    assert list(format_records_for_llama_factory_pt([TextDatum(text="Once.")])) == [
        {"text": "Once."}
    ]


def test_rows_are_made_one_at_a_time():
    asked: list[int] = []

    def records() -> Iterator[SupervisedDatum]:
        for i in range(3):
            asked.append(i)
            yield BARE

    rows = format_records_for_llama_factory_sft(records())
    next(rows)
    assert asked == [0]


def test_a_chat_record_is_refused_in_the_alpaca_formatting():
    with pytest.raises(ConfigurationError, match=r"record 1 .*'chat'.*formatting='sharegpt'"):
        list(format_records_for_llama_factory_sft([BARE, CHAT]))


def test_a_record_of_another_stage_is_refused_by_its_index_and_kind():
    with pytest.raises(ConfigurationError, match=r"record 1 .*'kto', expected 'preference'.*'dpo'"):
        list(format_records_for_llama_factory_dpo([PREFERENCE, KTO]))


@pytest.mark.parametrize(
    ("stage", "formatting", "entry"),
    [
        (
            "sft",
            "alpaca",
            {
                "formatting": "alpaca",
                "columns": {
                    "prompt": "instruction",
                    "query": "input",
                    "response": "output",
                    "system": "system",
                    "history": "history",
                },
            },
        ),
        (
            "sft",
            "sharegpt",
            {
                "formatting": "sharegpt",
                "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
            },
        ),
        (
            "dpo",
            "alpaca",
            {
                "formatting": "alpaca",
                "ranking": True,
                "columns": {
                    "prompt": "instruction",
                    "query": "input",
                    "chosen": "chosen",
                    "rejected": "rejected",
                    "system": "system",
                    "history": "history",
                },
            },
        ),
        (
            "kto",
            "sharegpt",
            {
                "formatting": "sharegpt",
                "columns": {
                    "messages": "conversations",
                    "system": "system",
                    "tools": "tools",
                    "kto_tag": "kto_tag",
                },
            },
        ),
        ("pt", "alpaca", {"columns": {"prompt": "text"}}),
    ],
)
def test_the_entry_names_the_columns_of_the_rows(stage, formatting, entry):
    assert dataset_info_entry(stage, formatting, "rows.jsonl") == {
        "file_name": "rows.jsonl",
        **entry,
    }


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
    assert list(format_records_for_llama_factory_dpo([PREFERENCE, pair], tool_format=form)) == [
        next(format_records_for_llama_factory_dpo([PREFERENCE])),
        {
            "instruction": heard.content,
            "input": "",
            "chosen": end.content,
            "rejected": said.content,
            "system": system.content,
            "history": [[ask.content, said.content]],
        },
    ]
    assert "add" in system.content
    assert "add" in said.content
