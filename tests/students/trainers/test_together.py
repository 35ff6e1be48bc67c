"""Adapters that are trained together, compared with those that are trained alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from dataenvgym import events
from dataenvgym.errors import ConfigurationError, TrainingError
from dataenvgym.records import PreferenceDatum, SupervisedDatum, TextDatum, TrainingDatum
from dataenvgym.storage import hash_files, read_jsonl
from dataenvgym.students.trainers import InProcessTrainer, together
from dataenvgym.students.trainers.together import (
    TrainingRequest,
    train_each,
)
from tests.students.trainings import write_training

CPU = torch.device("cpu")
MIXED: tuple[dict[str, Any], ...] = (
    {"lora_rank": 4, "per_device_train_batch_size": 1, "learning_rate": 5e-3},
    {"lora_rank": 4, "per_device_train_batch_size": 1, "learning_rate": 1e-3, "seed": 3},
    {"lora_rank": 8, "per_device_train_batch_size": 4, "lora_alpha": 5, "max_grad_norm": 0.3},
    {"lora_target": "q_proj,v_proj", "gradient_accumulation_steps": 2, "weight_decay": 0.1,
     "per_device_train_batch_size": 2, "lr_scheduler_type": "linear", "warmup_steps": 2},
    {"lora_dropout": 0.3, "num_train_epochs": 3.0, "per_device_train_batch_size": 3},
)  # fmt: skip


def records(n: int, k: int = 0) -> list[TrainingDatum]:
    return [
        SupervisedDatum(instruction=f"say {i}", output=f"{i + k}!" * (i % 4 + 1)) for i in range(n)
    ]


@pytest.fixture
def write(tmp_path, tiny_student):
    """Writes the files of a training; returns the trainer and the YAML file."""

    def write(
        name: str, data: Sequence[TrainingDatum], **options: Any
    ) -> tuple[InProcessTrainer, Path]:
        own = {"model_name_or_path": tiny_student, "num_train_epochs": 2.0, **options}
        return InProcessTrainer(threads=1), write_training(tmp_path / name, data, **own)

    return write


def log(adapter: Path) -> list[dict[str, float]]:
    return list(read_jsonl(adapter.parent / "trainer_log.jsonl"))


def assert_equal(alone: Path, shared: Path) -> None:
    """The same training, up to rounding."""
    assert len(log(alone)) == len(log(shared)) > 1
    for one, other in zip(log(alone), log(shared), strict=True):
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)
        assert one["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-2)
        exact = ("step", "epoch", "learning_rate")
        assert [one[name] for name in exact] == [other[name] for name in exact]
    mine, theirs = (load_file(folder / "adapter_model.safetensors") for folder in (alone, shared))
    assert mine.keys() == theirs.keys()
    for name, weight in mine.items():
        assert torch.allclose(weight, theirs[name], atol=1e-3), name
    config = (alone / "adapter_config.json").read_bytes()
    assert config == (shared / "adapter_config.json").read_bytes()


@pytest.mark.parametrize(
    ("threads", "full"), [pytest.param(1, 512, marks=pytest.mark.slow), (2, 60)]
)
def test_each_adapter_is_the_one_that_is_trained_alone(write, monkeypatch, threads, full):
    monkeypatch.setattr(together, "FULL", full)
    data = [records(5 + k, k) for k in range(len(MIXED))]
    alone = [
        trainer.train(path)
        for trainer, path in (write(f"alone{k}", data[k], **MIXED[k]) for k in range(len(MIXED)))
    ]
    requests = [
        TrainingRequest(*write(f"together{k}", data[k], **MIXED[k])) for k in range(len(MIXED))
    ]
    pairs = [PreferenceDatum(instruction=f"x{i}", chosen="a", rejected="b") for i in range(4)]
    others = {"pt": [TextDatum(text="a b c")] * 5, "dpo": pairs}  # "dpo" cannot share its steps
    for stage, own in others.items():
        trainer, path = write(f"{stage} alone", own)
        alone.append(trainer.train(path))
        requests.append(TrainingRequest(*write(stage, own)))
    train_each(requests, threads)
    for expected, request in zip(alone, requests, strict=True):
        assert_equal(expected, request.done.result())
    assert hash_files(alone[-1]) == hash_files(requests[-1].done.result())


def test_the_same_trainings_give_the_same_adapters_bit_for_bit(write):
    hashes = []
    for name in "ab":
        requests = [
            TrainingRequest(*write(f"{name}{k}", records(4, k), **MIXED[k])) for k in (0, 1, 4)
        ]
        train_each(requests, 2)
        hashes.append([hash_files(request.done.result()) for request in requests])
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 3


def test_a_training_that_fails_leaves_the_others(write):
    fine = write("fine", records(5), **MIXED[0])
    requests = [
        TrainingRequest(*write("exploding", records(5), learning_rate=1e38, max_grad_norm=0.0)),
        TrainingRequest(*write("nowhere", records(5), lora_target="nowhere")),
        TrainingRequest(fine[0], fine[1].parent / "missing.yaml"),
        TrainingRequest(*fine),
    ]
    train_each(requests, 1)
    exploded, nowhere, missing, done = (request.done for request in requests)
    with pytest.raises(TrainingError, match="expected finite numbers"):
        exploded.result()
    with pytest.raises(ConfigurationError, match="lora_target is 'nowhere'"):
        nowhere.result()
    assert missing.exception() is not None
    trainer, path = write("alone", records(5), **MIXED[0])
    assert_equal(trainer.train(path), done.result())


def test_progress_is_told_to_those_who_asked_for_the_training(write):
    heard: dict[str, list[events.ProgressMessage]] = {"a": [], "b": []}
    requests = []
    for name, own in heard.items():
        with events.hearing_progress(own.append):
            requests.append(TrainingRequest(*write(name, records(3 + len(requests)), **MIXED[0])))
    train_each(requests, 1)
    assert [(m.done, m.total) for m in heard["a"]] == [(n, 6) for n in range(7)]
    assert [(m.done, m.total) for m in heard["b"]] == [(n, 8) for n in range(9)]
    assert "loss" in heard["b"][-1]
