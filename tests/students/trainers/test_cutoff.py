import json
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import TrainingError
from dataenvgym.events import hearing_warnings
from dataenvgym.records import parse_training_datum
from dataenvgym.students.llama_factory import TrainingConfig, write_dataset
from dataenvgym.students.trainers.support import check_before

Record, Told = dict[str, Any], list[str]
LONG = "long" * 20
SUPERVISED = {"instruction": "2", "output": LONG}
PREFERENCE = {"kind": "preference", "instruction": "2", "chosen": "3", "rejected": LONG}
KTO = {"kind": "kto", "instruction": "2", "output": LONG, "desirable": True}
TEXT = {"kind": "text", "text": LONG}
ASKED, SAID = {"role": "user", "content": "2"}, {"role": "assistant", "content": "3"}
LAST = {**SAID, "content": LONG}
CHAT = {"kind": "chat", "messages": [ASKED, SAID, ASKED, LAST]}
SEGMENTS = {"kind": "preference", "messages": [ASKED], "chosen": [SAID, ASKED, LAST],
            "rejected": [{**SAID, "content": "4"}, ASKED, SAID]}  # fmt: skip


def told_of(record: Record, folder: Path, student: Path, *others: Record, **options: Any) -> Told:
    dataset = write_dataset(folder, [parse_training_datum(each) for each in (record, *others)])
    options = {"stage": dataset.stage, "model_name_or_path": student, **options}
    told: Told = []
    with hearing_warnings(told.append):
        check_before(TrainingConfig(dataset=dataset.name, dataset_dir=dataset.folder, **options))
    return told


@pytest.mark.parametrize(
    ("record", "stage"),
    [
        (SUPERVISED, "sft"),
        (CHAT, "sft"),
        (SEGMENTS, "dpo"),
        (PREFERENCE, "dpo"),
        (PREFERENCE, "rm"),
        (KTO, "kto"),
        (TEXT, "pt"),
    ],
)
def test_records_that_are_cut_are_counted_and_if_all_are_cut_only_texts_go_on(
    tmp_path, tiny_student, record, stage
):
    whole = json.loads(json.dumps(record).replace(LONG, "5"))
    (text,) = told_of(record, tmp_path, tiny_student, whole, stage=stage, cutoff_len=30)
    assert "1 of 2 records are longer than cutoff_len (30 tokens)" in text
    assert told_of(record, tmp_path, tiny_student, stage=stage, cutoff_len=200) == []
    if stage == "pt":
        assert len(told_of(record, tmp_path, tiny_student, record, stage=stage, cutoff_len=30)) == 1
        return
    with pytest.raises(TrainingError, match=r"set trainer\.cutoff_len="):
        told_of(record, tmp_path, tiny_student, record, stage=stage, cutoff_len=30)


def test_without_the_means_to_count_there_is_no_warning(tmp_path, tiny_student):
    assert told_of(SUPERVISED, tmp_path, tiny_student, cutoff_len=30, template="qwen") == []
    assert told_of(SUPERVISED, tmp_path, Path("no/student"), cutoff_len=30) == []
