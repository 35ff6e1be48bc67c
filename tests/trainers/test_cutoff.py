from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataenvgym.llama_factory import TrainingConfig, write_dataset
from dataenvgym.records import parse_training_datum
from dataenvgym.run_warnings import listening
from dataenvgym.trainers.cutoff import warn_before

LONG = "long" * 20
SUPERVISED = {"instruction": "2", "output": LONG}
PREFERENCE = {"kind": "preference", "instruction": "2", "chosen": "3", "rejected": LONG}
KTO = {"kind": "kto", "instruction": "2", "output": LONG, "desirable": True}
TEXT = {"kind": "text", "text": LONG}


def told_of(record: dict[str, Any], folder: Path, student: Path, **options: Any) -> list[str]:
    dataset = write_dataset(folder, [parse_training_datum(record)])
    options = {"stage": dataset.stage, "model_name_or_path": student, **options}
    told: list[str] = []
    with listening(told.append):
        warn_before(TrainingConfig(dataset=dataset.name, dataset_dir=dataset.folder, **options))
    return told


@pytest.mark.parametrize(
    ("record", "stage"),
    [(SUPERVISED, "sft"), (PREFERENCE, "dpo"), (PREFERENCE, "rm"), (KTO, "kto"), (TEXT, "pt")],
)
def test_records_of_each_stage_are_counted(
    tmp_path: Path, tiny_student: Path, record: dict[str, Any], stage: str
) -> None:
    (text,) = told_of(record, tmp_path, tiny_student, stage=stage, cutoff_len=30)
    assert "1 of 1 records are longer than cutoff_len (30 tokens)" in text
    assert told_of(record, tmp_path, tiny_student, stage=stage, cutoff_len=200) == []


def test_without_the_means_to_count_there_is_no_warning(tmp_path: Path, tiny_student: Path) -> None:
    assert told_of(SUPERVISED, tmp_path, tiny_student, cutoff_len=30, template="qwen") == []
    assert told_of(SUPERVISED, tmp_path, Path("no/student"), cutoff_len=30) == []
