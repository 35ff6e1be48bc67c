"""`LlamaFactoryTrainer` with LLaMA-Factory itself: real trainings of the pocket student."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import TrainingError
from dataenvgym.events import hearing_progress
from dataenvgym.records import (
    KTODatum,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.storage import hash_files, read_json, read_jsonl, write_json
from dataenvgym.students.llama_factory import (
    format_records_for_epo,
    without_weights,
)
from dataenvgym.students.pocket import student_path
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.llama_factory import LlamaFactoryTrainer
from tests.students import trainings
from tests.students.trainings import losses, spoken

pytestmark = [pytest.mark.external, pytest.mark.timeout(600)]

SUPERVISED = [SupervisedDatum(instruction=f"{n} + 1 =", output=f"{n + 1}") for n in range(8)]
PREFERENCES = [
    PreferenceDatum(instruction=f"{n} + 1 =", chosen=f"{n + 1}", rejected=f"{n}") for n in range(8)
]
JUDGED = [
    KTODatum(instruction=f"{n} + 1 =", output=f"{n + n % 2}", desirable=n % 2 == 1)
    for n in range(8)
]
TEXTS = [TextDatum(text=f"{n} and 1 make {n + 1}") for n in range(8)]

Train = Callable[..., Path]


@pytest.fixture(scope="module")
def command(llama_factory_python):
    return str(llama_factory_python.with_name("llamafactory-cli"))


@pytest.fixture(scope="module")
def trainer(command):
    """One trainer, whose warm worker trains everything here."""
    warm = LlamaFactoryTrainer(command=command, threads=1)
    yield warm
    warm.close()


def write_training(folder: Path, records: Sequence[TrainingDatum], **options: Any) -> Path:
    given = {"model_name_or_path": student_path(), "per_device_train_batch_size": 4, "seed": 3}
    given |= {"max_steps": 2, "logging_steps": 1, **options}
    return trainings.write_training(folder, records, **given)


@pytest.fixture
def train(trainer, tmp_path):
    """Train in the warm worker, in a folder of the test."""

    def train(
        name: str = "it", records: Sequence[TrainingDatum] = SUPERVISED, **options: Any
    ) -> Path:
        return trainer.train(write_training(tmp_path / name, records, **options))

    return train


@pytest.mark.parametrize(
    ("method", "options"), [("full", {}), ("freeze", {"extra": {"freeze_trainable_layers": 1}})]
)
def test_the_students_own_weights_are_trained(train, method, options):
    from safetensors.torch import load_file

    output = train(finetuning_type=method, learning_rate=1e-3, **options)
    before, after = (load_file(f / "model.safetensors") for f in (student_path(), output))
    names = before.keys() & after.keys()
    changed = {name for name in names if not before[name].float().equal(after[name].float())}
    layers = {name.split(".")[2] for name in changed if ".layers." in name}
    n_layers = read_json(output / "config.json")["num_hidden_layers"]
    assert len(layers) == (n_layers if method == "full" else 1)
    assert any("embed" in name for name in changed) == (method == "full")
    assert not list(output.glob("checkpoint*"))


@pytest.mark.gpu
def test_a_quantized_student_gets_an_adapter(train):
    output = train(quantization_bit=4, bf16=True)
    assert (output / "adapter_model.safetensors").is_file()


STAGES: dict[str, tuple[Sequence[TrainingDatum], dict[str, Any]]] = {
    "sft": (SUPERVISED, {}),
    "pt": (TEXTS, {}),
    "dpo": (PREFERENCES, {"pref_loss": "sigmoid"}),
    "orpo": (PREFERENCES, {"pref_loss": "orpo"}),
    "simpo": (PREFERENCES, {"pref_loss": "simpo"}),
    "kto": (JUDGED, {}),
}


SCORED = [
    ScoredDatum(
        messages=spoken(f"{n} + 1 =", f"{n + more}", "again", f"{n + 1}"), weights=(weight, 1.0)
    )
    for n in range(8)
    for more, weight in ((1, 1.0), (2, -1.0))
]


GROUP_RELATIVE: dict[str, Any] = {
    "scored_reduction": "token_mean",
    "scored_clip": 0.2,
    "scored_clip_high": 0.28,
    "scored_clip_dual": 10.0,
    "scored_kl": 1e-4,
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """An adapter with which both trainers begin."""
    path = write_training(tmp_path_factory.mktemp("earlier"), SUPERVISED, lora_rank=4)
    return InProcessTrainer(threads=1).train(path)


PAIRS = [
    *PREFERENCES[:3],
    PreferenceDatum(
        messages=spoken("2 + 2"),
        chosen=spoken("", "4")[1:],
        rejected=spoken("", "5", "no", "3", "no", "6")[1:],
    ),
    *without_weights(
        [
            ScoredDatum(
                messages=spoken(*turns),
                system="s",
                weights=(None, weight, *[None] * (len(turns) // 2 - 2)),
            )
            for n in range(5)
            for turns, weight in (
                (("hi", "ho", f"{n} + 1", f"{n + 1}", "again", f"it is {n + 1}", "?", "yes"), 1.0),
                (("hi", "ho", f"{n} + 1", f"{n}", "so?", "no", "why?", "it is", "more", "x"), 0.0),
            )
        ],
        "dpo",
        segment="tail",
    ),
]
OF_SCORED: dict[str, dict[str, Any]] = {
    "mean": {},
    "sum": {"scored_reduction": "sum"},
    "group_relative": GROUP_RELATIVE,
    "cut": {**GROUP_RELATIVE, "cutoff_len": 24},
}
OF_PAIRS: dict[str, dict[str, Any]] = {
    "segments": {},
    "discounted": {"pref_discount": 0.7, "pref_ftx": 0.3},
    "segments, cut": {"cutoff_len": 52, "pref_discount": 0.7},
    "cut in the first turn": {"cutoff_len": 20},
}


@pytest.mark.parametrize("how", [*OF_SCORED, *OF_PAIRS])
def test_scored_records_and_pairs_of_several_turns_train_as_in_the_in_process_trainer(
    train, tmp_path, earlier, how
):
    options = {"lora_rank": 4, "lr_scheduler_type": "constant", "max_steps": 5}
    if how in OF_SCORED:
        records: Sequence[TrainingDatum] = SCORED  # two epochs and a half
        options |= {"adapter_name_or_path": earlier, "gradient_accumulation_steps": 2}
        options |= {"learning_rate": 1e-2, **OF_SCORED[how]}
    else:
        records, options = PAIRS, {**options, "learning_rate": 2e-3, **OF_PAIRS[how]}
    theirs = losses(train(records=records, **options))
    ours = losses(
        InProcessTrainer(threads=1).train(write_training(tmp_path / "ours", records, **options))
    )
    assert len(ours) == 5
    more = 1e-4 * max(map(abs, ours)) if how in OF_SCORED else 0.0
    assert theirs == pytest.approx(ours, abs=1e-4 + more)
    assert abs(ours[0] - ours[-1]) > 0.01


def test_files_of_epo_train_as_scored_records(train, trainer, tmp_path):
    rows = list(format_records_for_epo(SCORED))
    path = write_training(tmp_path / "epo", SCORED)
    folder = tmp_path / "epo" / "dataset"
    write_json(folder / "custom_scored_dataset.json", rows)
    entry = {"file_name": "custom_scored_dataset.json", "formatting": "sharegpt"}
    columns = {"messages": "conversations"}
    write_json(
        folder / "dataset_info.json", {"custom_scored_dataset": entry | {"columns": columns}}
    )
    assert hash_files(trainer.train(path)) == hash_files(train("ours", SCORED))


def test_two_processes_learn_from_scored_records_as_one(command, tmp_path, earlier):
    options: dict[str, Any] = {
        "adapter_name_or_path": earlier,
        "lora_rank": 4,
        "learning_rate": 1e-2,
        "max_steps": 4,
        **GROUP_RELATIVE,
    }
    divided = {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 2}
    torchrun = {"FORCE_TORCHRUN": "1", "NPROC_PER_NODE": "2"}
    two = LlamaFactoryTrainer(command=command, threads=1, environment=torchrun)
    theirs = losses(two.train(write_training(tmp_path / "two", SCORED, **options, **divided)))
    whole = {"per_device_train_batch_size": 8}
    ours = losses(
        InProcessTrainer(threads=1).train(
            write_training(tmp_path / "ours", SCORED, **{**options, **whole})
        )
    )
    assert theirs == pytest.approx(ours, abs=1e-4)


def test_a_student_with_own_weights_trains_on_scored_records(train):
    output = train(records=SCORED, finetuning_type="full", learning_rate=1e-3, **GROUP_RELATIVE)
    assert (output / "model.safetensors").is_file()
    assert "scored_log_probabilities.pt" not in {path.name for path in output.iterdir()}
    assert len(losses(output)) == 2


def test_a_training_continues_from_an_adapter(train):
    first = train("first", max_steps=20, learning_rate=1e-2)
    second = train("second", adapter_name_or_path=first, learning_rate=1e-5)
    assert losses(second)[0] < 0.7 * losses(first)[0]
    assert hash_files(second) != hash_files(first)


@pytest.mark.parametrize(
    ("records", "options"), [(SUPERVISED, {}), (SCORED, GROUP_RELATIVE)], ids=["sft", "scored"]
)
def test_an_interrupted_training_continues_from_its_last_checkpoint(
    trainer, tmp_path, records, options
):
    options = {
        "max_steps": 90, "save_strategy": "steps", "extra": {"save_steps": 15}, **options,
    }  # fmt: skip
    whole = trainer.train(write_training(tmp_path / "whole", records, **options))
    path = write_training(tmp_path / "broken", records, **options)

    def interrupt(text: str) -> None:
        if (tmp_path / "broken/.adapter.training/checkpoint-15/trainer_state.json").exists():
            raise KeyboardInterrupt

    with hearing_progress(interrupt), pytest.raises(KeyboardInterrupt):
        trainer.train(path)
    assert trainer.worker is not None
    assert trainer.worker.pid is None
    resumed = trainer.train(path)
    log = list(read_jsonl(tmp_path / "broken" / "trainer_log.jsonl"))
    steps = [line["current_steps"] for line in log if "loss" in line]
    assert steps[0] - 1 in (15, 30, 45, 60, 75)  # a checkpoint, however quick the interrupt was
    assert steps == list(range(steps[0], 91))
    assert hash_files(resumed) == hash_files(whole)


def test_a_failed_training_gives_its_reason_and_the_worker_continues(trainer, tmp_path):
    bad = write_training(tmp_path / "bad", SUPERVISED, lora_target="no_such_layer")
    with pytest.raises(TrainingError, match="llama_factory"):
        trainer.train(bad)
    assert not (tmp_path / "bad" / "adapter").exists()
    worker = trainer.worker and trainer.worker.pid
    trainer.train(write_training(tmp_path / "good", SUPERVISED))
    assert worker is not None
    assert trainer.worker is not None
    assert trainer.worker.pid == worker


# --- nothing leaks from one training into the next ------------------------------------------------


def test_the_worker_has_only_imported_modules(trainer, train):
    train()
    assert trainer.worker is not None
    ready = trainer.worker.ready
    assert ready["threads"] == ["MainThread"]
    # a tensor operation or BLAS call would have started threads; jemalloc is pyarrow's allocator
    assert [name for name in ready["native_threads"] if "jemalloc" not in name] == ["python"]
    assert ready["cuda_initialized"] is False


def test_the_tenth_training_gives_the_adapter_of_the_first_and_of_a_fresh_process(
    trainer, train, command, tmp_path
):
    same: dict[str, Any] = {"max_steps": 4, "lora_dropout": 0.1}
    first = hash_files(train("1", **same))
    for n, (records, options) in enumerate(STAGES.values(), start=2):
        assert len(losses(train(f"{n}", records=records, seed=n, **options))) == 2
    train("8", finetuning_type="full")
    train("9", use_dora=True)
    assert hash_files(train("10", **same)) == first
    assert hash_files(train("other", **{**same, "seed": 4})) != first

    plain = write_training(tmp_path / "plain", SUPERVISED, **same)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    subprocess.run([command, "train", plain], check=True, capture_output=True, env=environment)
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        ours, theirs = (tmp_path / f / "adapter" / name for f in ("1", "plain"))
        assert ours.read_bytes() == theirs.read_bytes()
