"""Files of SDPO's code are read as pairs (`test_dataset` reads what it writes)."""

import json

import pytest

from dataenvgym.errors import DatasetFormatError
from dataenvgym.llama_factory import (
    format_records_for_sdpo,
    read_dataset,
    read_sdpo_pairs,
    write_dataset,
)
from dataenvgym.records import PreferenceDatum
from dataenvgym.storage import read_jsonl


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


def test_pairs_of_any_form_are_written_as_sdpo_has_them_and_read_again(tmp_path):
    records = [
        PreferenceDatum(instruction="q", chosen="yes", rejected="no", history=(("a", "b"),)),
        PreferenceDatum(instruction="q", chosen="yes", rejected="no", system="s"),
    ]
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(list(format_records_for_sdpo(records))))
    found = list(read_sdpo_pairs(path))
    assert [pair.prompt for pair in found] == [record.prompt for record in records]
    assert [pair.segments for pair in found] == [record.segments for record in records]


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
    """LLaMA-Factory's loader needs one type for each column."""
    (segments,) = read_sdpo_pairs(sdpo_file(tmp_path / "pairs.json", WORSE, BETTER))
    single = PreferenceDatum(instruction="q", chosen="yes", rejected="no")
    records = [single, segments]
    written = write_dataset(tmp_path / "dataset", records)
    rows = list(read_jsonl(tmp_path / "dataset" / f"{written.name}.jsonl"))
    assert rows[0]["chosen"] == [{"from": "gpt", "value": "yes"}]
    assert [len(row["rejected"]) for row in rows] == [1, 5]
    found = list(read_dataset(written.folder, written.name))
    assert [record.segments for record in found] == [record.segments for record in records]
    alone = write_dataset(tmp_path / "alone", [single])
    (row,) = read_jsonl(tmp_path / "alone" / f"{alone.name}.jsonl")
    assert row["chosen"] == "yes"
