"""What a trainer would ignore or cut is refused, or told."""

import json
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import TrainingError, UnsupportedStageError
from dataenvgym.events import hearing_warnings
from dataenvgym.records import Message, ScoredDatum, SupervisedDatum, parse_training_datum
from dataenvgym.students.llama_factory import TrainingConfig, write_dataset
from dataenvgym.students.trainers.support import (
    check_before,
    refuse_unsupported,
    warn_of_idle_options,
)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("stage is 'rm', expected one of sft", {"stage": "rm"}),
        ("stage is 'ppo'", {"stage": "ppo"}),
        ("template", {"template": "llama3"}),
        ("packing", {"packing": True}),
        ("fp16", {"fp16": True}),
        ("pure_bf16", {"extra": {"pure_bf16": True}}),
        ("pref_loss", {"stage": "dpo", "pref_loss": "ipo"}),
        ("pref_ftx", {"stage": "kto", "pref_ftx": 0.1}),
        ("do_train", {"do_train": False}),
        ("ref_model", {"model_name_or_path": "a", "extra": {"ref_model": "b"}}),
        ("neat_packing", {"extra": {"neat_packing": True}}),
        ("train_on_prompt is 'off'", {"extra": {"train_on_prompt": "off"}}),
        ("warmup_ratio is 'x'", {"extra": {"warmup_ratio": "x"}}),
        ("num_workers", {"extra": {"preprocessing_num_workers": [1]}}),
    ],
)
def test_an_option_that_would_not_be_acted_upon_is_refused_by_name(name, options):
    with pytest.raises(UnsupportedStageError, match=name):
        refuse_unsupported(TrainingConfig(**options))


def test_known_stages_are_not_refused():
    for options in (
        {},
        {"stage": "pt", "packing": True},
        {"stage": "dpo", "pref_ftx": 0.1},
        {"bf16": True, "extra": {"plot_loss": True, "adam_beta2": 0.99}},
        {"model_name_or_path": "a", "extra": {"ref_model": "a", "ref_model_adapters": "x"}},
    ):
        refuse_unsupported(TrainingConfig(**options))


PLAIN = SupervisedDatum(instruction="1 + 1", output="2")
SCORED = ScoredDatum(
    messages=(Message(role="user", content="1"), Message(role="assistant", content="2")),
    weights=(1.0,),
)


@pytest.mark.parametrize(
    ("idle", "used", "record", "stage"),
    [
        ({"pref_ftx": 1.0}, {}, PLAIN, "sft"),
        ({"scored_as": "sft"}, {}, PLAIN, "sft"),
        ({"kto_chosen_weight": 2.0}, {"pref_ftx": 1.0, "pref_loss": "simpo"}, PLAIN, "dpo"),
        ({"pref_loss": "simpo"}, {"pref_beta": 0.2, "kto_chosen_weight": 2.0}, PLAIN, "kto"),
        (
            {"scored_threshold": 0.7},
            {"scored_clip": 0.2, "scored_reduction": "sum"},
            SCORED,
            "scored",
        ),
        ({"scored_segment": 2}, {"scored_as": "sft", "scored_threshold": 0.7}, SCORED, "sft"),
        (
            {"num_train_epochs": 7.0},
            {"curriculum": {"sections": [{"mix": {"sum": 1}}]}},
            PLAIN,
            "sft",
        ),
        ({}, {"scored_as": "dpo", "scored_segment": 2}, SCORED, "dpo"),
    ],
)
def test_the_options_of_other_stages_are_named_and_no_others(idle, used, record, stage):
    told: list[str] = []
    with hearing_warnings(told.append):
        warn_of_idle_options(TrainingConfig(**idle, **used), [record], stage)
    if not idle:
        assert told == []
        return
    ((name, value),) = idle.items()
    (text,) = told
    assert f"trainer.{name}={value} is " in text
    assert text.count("trainer.") == 1
    assert f"stage {stage}" in text


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
