"""Dataset folders: records survive writing and reading, or an error names the place."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import ConfigurationError, DatasetFormatError
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    ToolCall,
    TrainingDatum,
)
from dataenvgym.records.tool_formats import HERMES, LLAMA_FACTORY, ToolFormat
from dataenvgym.students.llama_factory import (
    read_dataset,
    write_dataset,
)
from dataenvgym.students.llama_factory.entries import DatasetEntry, dataset_info_entry
from dataenvgym.students.llama_factory.formats import as_sharegpt, row_of
from dataenvgym.students.llama_factory.reading import parse_row
from tests.processes import python

NASTY = "é \x00\x7f\u2028\u2029\x85\ufeff \U0001f468\u200d\U0001f469 \\\"'`${x} {{a}} \r\n\t<image>"
PLAIN = SupervisedDatum(instruction="Add 2 and 3.", output="5")
PROMPT: dict[str, Any] = {
    "instruction": NASTY,
    "system": f"s{NASTY}",
    "history": ((NASTY, "b"), ("c", NASTY)),
}
CHAT = ChatDatum(
    messages=(
        Message(role="user", content=NASTY),
        Message(
            role="assistant",
            content=NASTY,
            tool_calls=(ToolCall(name=NASTY, arguments={NASTY: NASTY}), ToolCall(name="g")),
        ),
        Message(role="tool", content=NASTY),
        Message(role="assistant", content=NASTY),
    ),
    system=NASTY,
    tools=({"name": NASTY, "parameters": {}},),
)
PLAIN_CHAT: dict[str, Any] = {
    "messages": (
        Message(role="user", content="2024-01-01"),
        Message(role="assistant", content="2024-01-02"),
        Message(role="user", content=NASTY),
        Message(role="assistant", content=NASTY),
    )
}
BATCHES: dict[str, list[TrainingDatum]] = {
    "supervised": [PLAIN, SupervisedDatum(**PROMPT, input=NASTY, output=NASTY)],
    "chat": [CHAT, ChatDatum(messages=(CHAT.messages[0], CHAT.messages[3]))],
    "preference": [PreferenceDatum(**PROMPT, input=NASTY, chosen=NASTY, rejected="b")],
    "kto": [
        KTODatum(**PROMPT, input=NASTY, output=NASTY, desirable=True),
        KTODatum(instruction="a", output="b", desirable=False),
    ],
    "text": [TextDatum(text=NASTY), TextDatum(text="\n")],
    "segments": [
        PreferenceDatum(
            instruction="q",
            chosen=PLAIN_CHAT["messages"][1:],
            rejected=(PLAIN_CHAT["messages"][3], *PLAIN_CHAT["messages"][2:]),
        ),
        PreferenceDatum(instruction="q", chosen="yes", rejected="no"),
    ],
    "scored": [
        ScoredDatum(**PLAIN_CHAT, weights=(-0.5, None)),
        ScoredDatum(**PLAIN_CHAT, weights=(0.0, 1e-9)),
    ],
}


def flattened(record: TrainingDatum, form: ToolFormat = LLAMA_FACTORY) -> TrainingDatum:
    """The record with its tools and calls as text."""
    if not isinstance(record, ChatDatum) or not record.tools:
        return record
    system, *messages = form.flatten(record.conversation)
    return ChatDatum(messages=tuple(messages), system=system.content)


@pytest.mark.parametrize("formatting", ["alpaca", "sharegpt"])
def test_segments_are_read_back_in_both_formattings(formatting):
    records = BATCHES["segments"]
    rows = [row_of(record, LLAMA_FACTORY) for record in records]
    rows = [*map(as_sharegpt, rows)] if formatting == "sharegpt" else rows
    entry = DatasetEntry.model_validate(dataset_info_entry("dpo", formatting, "a.jsonl"))
    assert [parse_row(row, entry) for row in rows] == records


@pytest.mark.parametrize(
    ("kind", "stage", "formatting"),
    [
        ("supervised", "sft", "alpaca"),
        ("chat", "sft", "sharegpt"),
        ("preference", "dpo", "alpaca"),
        ("segments", "dpo", "alpaca"),
        ("kto", "kto", "alpaca"),
        ("text", "pt", "alpaca"),
        ("scored", "scored", "sharegpt"),
    ],
)
def test_every_kind_is_written_to_its_file_with_an_entry_and_read_back(
    kind, stage, formatting, tmp_path
):
    written = write_dataset(tmp_path, iter(BATCHES[kind]))
    assert list(read_dataset(tmp_path, written.name)) == [*map(flattened, BATCHES[kind])]
    assert (written.stage, written.formatting) == (stage, formatting)
    assert written.count == len(BATCHES[kind])
    file = f"custom_{stage}_dataset.jsonl"
    assert sorted(os.listdir(tmp_path)) == [file, "dataset_info.json"]
    info = (tmp_path / "dataset_info.json").read_text("ascii")
    assert json.loads(info)[written.name]["file_name"] == file


@pytest.mark.parametrize("form", [HERMES, LLAMA_FACTORY], ids=["hermes", "llama_factory"])
def test_a_mixed_batch_is_one_file_of_conversations_in_order(tmp_path, form):
    written = write_dataset(tmp_path, [PLAIN, CHAT, PLAIN], tool_format=form)
    assert (written.formatting, written.count) == ("sharegpt", 3)
    plain = ChatDatum(
        messages=(
            Message(role="user", content="Add 2 and 3."),
            Message(role="assistant", content="5"),
        )
    )
    assert list(read_dataset(tmp_path, written.name)) == [plain, flattened(CHAT, form), plain]
    assert sorted(os.listdir(tmp_path)) == ["custom_sft_dataset.jsonl", "dataset_info.json"]


def test_the_same_records_make_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_dataset(tmp_path / name, [PLAIN, CHAT])
    for file in ("custom_sft_dataset.jsonl", "dataset_info.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_several_datasets_share_a_folder_and_are_read_by_their_names(tmp_path):
    write_dataset(tmp_path, [PLAIN], name="first")
    write_dataset(tmp_path, BATCHES["text"], name="second")
    assert list(read_dataset(tmp_path, "second, first")) == [*BATCHES["text"], PLAIN]


def test_records_of_two_stages_are_refused_and_nothing_is_left_behind(tmp_path):
    with pytest.raises(ConfigurationError, match="is of kind"):
        write_dataset(tmp_path, [PLAIN, *BATCHES["preference"]])
    assert os.listdir(tmp_path) == []


def test_a_failed_writing_leaves_the_old_files(tmp_path):
    def records() -> Iterator[TrainingDatum]:
        yield CHAT
        raise RuntimeError("the generator broke")

    write_dataset(tmp_path, [PLAIN])
    with pytest.raises(RuntimeError, match="broke"):
        write_dataset(tmp_path, records())
    assert list(read_dataset(tmp_path, "custom_sft_dataset")) == [PLAIN]
    assert sorted(os.listdir(tmp_path)) == ["custom_sft_dataset.jsonl", "dataset_info.json"]


@pytest.mark.parametrize(
    ("record", "column"),
    [
        (TextDatum(text="2024-03-05"), "text"),
        (PreferenceDatum(instruction="a", chosen="2024-03-05", rejected="b"), "chosen"),
        (SupervisedDatum(instruction="2024-03-05", output="2024-03-06"), "conversations"),
    ],
)
def test_texts_that_are_all_dates_may_have_no_way_out(record, column, tmp_path):
    with pytest.raises(ConfigurationError, match=rf"\['{column}'\] all look like dates"):
        write_dataset(tmp_path, [record, record])
    assert os.listdir(tmp_path) == []


def test_a_json_array_and_a_folder_of_files_are_read_as_well(tmp_path):
    rows = [{"instruction": "a", "input": "", "output": "b"}]
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "1.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "rows" / "2.json").write_text(json.dumps(rows[0]) + "\n\n")
    (tmp_path / "dataset_info.json").write_text('{"theirs": {"file_name": "rows"}}')
    expected = SupervisedDatum(instruction="a", output="b")
    assert list(read_dataset(tmp_path, "theirs")) == [expected, expected]


@pytest.mark.parametrize(
    ("info", "rows", "message"),
    [
        (None, "", r"dataset_info\.json: found None"),
        ("[", "", r"dataset_info\.json: .* expected JSON"),
        ("[]", "", r"dataset_info\.json: found \[\]"),
        ('{"ours": {"file_name": "r.jsonl"}}', "", r"no dataset 'mine' there.*\['ours'\]"),
        ('{"mine": {}}', "", r"dataset_info\.json, 'mine': file_name"),
        ('{"mine": {"file_name": "r.csv"}}', "", r"r\.csv: expected a \.json or \.jsonl file"),
        ('{"mine": {"file_name": "no.jsonl"}}', "", r"no\.jsonl"),
        (
            '{"mine": {"file_name": "r.jsonl"}}',
            '{"instruction": "a", "output": "b"}\n\n{"instruction": "a", "output"',
            r"r\.jsonl, line 3: .* expected JSON",
        ),
        (
            '{"mine": {"file_name": "r.jsonl"}}',
            '{"instruction": "a", "output": "b"}\n{"instruction": "a", "output": 3}\n',
            r"r\.jsonl, line 2: column 'output'.*3",
        ),
        (
            '{"mine": {"file_name": "r.jsonl"}}',
            '[{"instruction": "", "output": "b"}]',
            r"r\.jsonl, item 1: .*instruction: .*at least 1 character; found ''",
        ),
    ],
)
def test_an_error_names_the_file_and_the_line(info, rows, message, tmp_path):
    (tmp_path / "r.jsonl").write_text(rows)
    if info is not None:
        (tmp_path / "dataset_info.json").write_text(info)
    with pytest.raises(DatasetFormatError, match=message):
        list(read_dataset(tmp_path, "mine"))


# --- memory ---------------------------------------------------------------------------------------

_WRITE = """
import re, sys
from pathlib import Path
from dataenvgym.students.llama_factory import read_dataset, write_dataset
from dataenvgym.records import SupervisedDatum

count, late = int(sys.argv[1]), sys.argv[2] == "late"

def records():
    for i in range(count):
        history = (("Hi", "Hello"),) if late and i == count - 1 else ()
        yield SupervisedDatum(instruction=f"Add {i} and {i}.", output=str(i + i), history=history)

folder = Path(sys.argv[3])
written = write_dataset(folder, records())
assert sum(1 for _ in read_dataset(folder, written.name)) == count == written.count
# not getrusage, whose peak begins with that of the process that started this one
status = Path("/proc/self/status").read_text()
print(written.formatting, int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) // 1024)
"""


def peak_megabytes(folder: Path, count: int, kind: str = "plain") -> tuple[str, int]:
    """Formatting, and peak memory of a process that writes and reads so many records."""
    result = python("-c", _WRITE, count, kind, folder, check=True)
    formatting, megabytes = result.stdout.split()
    return formatting, int(megabytes)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_records_also_where_the_file_is_written_twice(tmp_path):
    _, few = peak_megabytes(tmp_path / "few", 1_000)
    _, many = peak_megabytes(tmp_path / "many", 60_000)
    formatting, twice = peak_megabytes(tmp_path / "twice", 40_000, "late")
    assert formatting == "sharegpt"
    assert max(many, twice) - few < 20
