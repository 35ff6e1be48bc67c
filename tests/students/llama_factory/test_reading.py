"""Forms of LLaMA-Factory's data sets that others write, and files of SDPO's code.

`test_dataset` reads what it writes.
"""

import json
import random

import pytest

from dataenvgym.errors import DatasetFormatError
from dataenvgym.records import ChatDatum, PreferenceDatum
from dataenvgym.storage import read_jsonl
from dataenvgym.students.llama_factory import (
    format_records_for_sdpo,
    read_dataset,
    read_sdpo_pairs,
    write_dataset,
)
from dataenvgym.students.llama_factory.entries import OPENAI_TAGS


def sdpo_file(path, *dialogues):
    rows = [
        {
            "conversations": [
                {"from": "gpt" if i % 2 else "human", "value": text} for i, text in enumerate(said)
            ],
            "goal": 2,
        }
        for said in dialogues
    ]
    path.write_text(json.dumps(rows))
    return path


WORSE = ("q", "a", "b", "no", "why?", "because", "bye", "bye")
BETTER = ("q", "a", "b", "yes", "thanks", "welcome")


def test_adjacent_dialogues_of_sdpo_are_pairs_the_better_one_second(tmp_path):
    path = sdpo_file(tmp_path / "preference_data.json", WORSE, BETTER)
    (pair,) = read_sdpo_pairs(path)
    assert [m.content for m in pair.messages] == ["q", "a", "b"]
    chosen, rejected = ([m.content for m in side] for side in pair.segments)
    assert (chosen, rejected) == ([*BETTER[3:]], [*WORSE[3:]])
    rows = list(format_records_for_sdpo([pair]))
    path.write_text(json.dumps(rows))
    assert [[turn["value"] for turn in row["conversations"]] for row in rows] == [
        [*WORSE],
        [*BETTER],
    ]
    assert list(read_sdpo_pairs(path)) == [pair]


@pytest.mark.parametrize(
    ("dialogues", "message"),
    [
        ([WORSE, BETTER, WORSE], "found 3 dialogues, expected an even number"),
        ([WORSE, WORSE], r"item 1: the dialogue and the next one have 8 equal turns"),
        ([WORSE, ("other", *BETTER[1:])], "have 0 equal turns"),
        ([WORSE, BETTER, ("q", ""), ("q", "a")], "item 3: "),
    ],
)
def test_dialogues_that_are_no_pairs_are_named(tmp_path, dialogues, message):
    with pytest.raises(DatasetFormatError, match=message):
        list(read_sdpo_pairs(sdpo_file(tmp_path / "pairs.json", *dialogues)))


def test_answers_of_one_turn_and_of_several_are_written_in_one_form(tmp_path):
    """LLaMA-Factory's loader needs one type for each column; SDPO's files have but one form."""
    (segments,) = read_sdpo_pairs(sdpo_file(tmp_path / "pairs.json", WORSE, BETTER))
    single = PreferenceDatum(instruction="q", chosen="yes", rejected="no", history=(("a", "b"),))
    records = [single, segments]
    written = write_dataset(tmp_path / "dataset", records)
    rows = list(read_jsonl(tmp_path / "dataset" / f"{written.name}.jsonl"))
    assert rows[0]["chosen"] == [{"from": "gpt", "value": "yes"}]
    assert [len(row["rejected"]) for row in rows] == [1, 5]
    (tmp_path / "again.json").write_text(json.dumps(list(format_records_for_sdpo(records))))
    for found in (
        list(read_dataset(written.folder, written.name)),
        list(read_sdpo_pairs(tmp_path / "again.json")),
    ):
        assert [pair.prompt for pair in found] == [record.prompt for record in records]
        assert [pair.segments for pair in found] == [record.segments for record in records]


def read(folder, data, **entry):
    """The records of a data set whose file has these bytes, or these rows."""
    entry = {"file_name": "rows.json", **entry}
    (folder / "dataset_info.json").write_text(json.dumps({"rows": entry}))
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    (folder / entry["file_name"]).write_bytes(data)
    return list(read_dataset(folder, "rows"))


ROWS = [{"instruction": f"Größe {i}", "output": "日本"} for i in range(3)]
LINES = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)


@pytest.mark.parametrize(
    "text",
    [
        *(LINES, json.dumps(ROWS), json.dumps(ROWS, indent=2), f"\n \n{json.dumps(ROWS)}"),
        *(f"{LINES}\n\n", LINES.replace("\n", "\r\n"), LINES.replace("\n", "\n\n")),
        "\n".join(json.dumps(row, indent=2) for row in ROWS),
        "\r\n".join(json.dumps(row, indent="\t").replace("\n", "\r\n") for row in ROWS),
    ],
)
def test_rows_are_objects_in_lines_or_over_lines_or_an_array_with_or_without_a_mark(tmp_path, text):
    expected = [(row["instruction"], row["output"]) for row in ROWS]
    for data in (text.encode(), text.encode("utf-8-sig")):
        found = read(tmp_path, data)
        assert [(record.instruction, record.output) for record in found] == expected


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16-LE", "UTF-16-BE", "Latin-1"])
def test_another_encoding_is_named_with_the_file(tmp_path, encoding):
    for text in ("ü" + LINES, json.dumps(ROWS, ensure_ascii=False)):
        with pytest.raises(DatasetFormatError, match=rf"rows\.json.*{encoding[:6]}"):
            read(tmp_path, text.replace("日本", "é").encode(encoding))


TOOLS = [{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}]


def twins(rng):
    """One conversation as turns of ShareGPT, and as messages of OpenAI's API."""
    turns, messages = [], []

    def both(shared_role, role, text):
        turns.append({"from": shared_role, "value": text})
        messages.append({"role": role, "content": text})

    if rng.random() < 0.5:
        both("system", "system", "Be brief.")
    for i in range(rng.randint(1, 3)):
        both("human", "user", f"q{i}")
        for _ in range(rng.randrange(3)):
            arguments = rng.choice([{}, {"a": [1, None]}, {"n": 2**70, "text": "<think>é</think>"}])
            calls = [{"name": "f", "arguments": arguments}] * rng.randint(1, 2)
            in_text = [
                {**c, "arguments": json.dumps(arguments) if rng.random() < 0.5 else arguments}
                for c in calls
            ]
            thought = rng.choice(("", "<think>hm</think>\n", "<think>\nhm\n</think>\n\n"))
            listed = rng.choice((json.dumps(in_text), json.dumps(in_text, indent=1)))
            listed = rng.choice((listed, f"<tool_call>{listed}</tool_call>"))
            turns.append({"from": "function_call", "value": thought + listed})
            wrapped = [{"id": "1", "type": "function", "function": call} for call in in_text]
            content = thought or rng.choice(("", None))
            messages.append({"role": "assistant", "content": content, "tool_calls": wrapped})
            for _ in calls:
                both("observation", "tool", "1")
        both("gpt", "assistant", f"a{i}")
    return turns, messages


def test_a_conversation_is_the_same_record_in_every_formatting(tmp_path):
    rng = random.Random(0)
    both = [twins(rng) for _ in range(200)]
    shared = read(
        tmp_path,
        [{"m": turns, "t": json.dumps(TOOLS)} for turns, _ in both],
        formatting="sharegpt",
        columns={"messages": "m", "tools": "t"},
    )
    assert any(m.tool_calls and m.content for record in shared for m in record.messages)
    assert all(isinstance(record, ChatDatum) for record in shared)
    openai = {"formatting": "openai", "columns": {"messages": "m", "tools": "t"}}
    rows = [{"m": messages, "t": TOOLS} for _, messages in both]
    assert read(tmp_path, rows, **openai) == shared
    assert read(tmp_path, rows, **openai, tags=OPENAI_TAGS) == shared
    # with its own tags, as LLaMA-Factory has them for this formatting too
    rows = [{"m": turns, "t": json.dumps(TOOLS)} for turns, _ in both]
    assert read(tmp_path, rows, **openai) == shared


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": "", "tool_calls": True},
        {"role": "assistant", "content": "", "tool_calls": [{"function": "f"}]},
        {"role": "assistant", "content": 0, "tool_calls": [{"name": "f", "arguments": {}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "x"}}]},
        {"role": "bot", "content": "A"},
    ],
)
def test_a_message_that_says_nothing_readable_is_named(tmp_path, turn):
    rows = [{"m": [{"role": "user", "content": "Q"}, turn]}]
    with pytest.raises(DatasetFormatError, match="item 1"):
        read(tmp_path, rows, formatting="openai", columns={"messages": "m"})
