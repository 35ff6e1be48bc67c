import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.errors import (
    ConfigurationError,
    ExternalError,
    TrainingError,
    UnsupportedStageError,
)
from dataenvgym.events import ProgressMessage, hearing_progress
from dataenvgym.records import Message, PreferenceDatum
from dataenvgym.storage import read_json
from dataenvgym.students.llama_factory import TrainingConfig, write_dataset
from dataenvgym.students.trainers.llama_factory import LlamaFactoryTrainer


@pytest.fixture
def make(command, monkeypatch):
    """A trainer with the fake program; `does` names its behavior."""

    def make(does: str = "train", **options: Any) -> LlamaFactoryTrainer:
        environment = {"STAND_IN": does, **options.pop("environment", {})}
        given = {"command": command, "warm": False, "environment": environment, **options}
        return LlamaFactoryTrainer(**given)

    return make


def seen(folder: Path) -> dict[str, Any]:
    """The input of the fake program."""
    found: dict[str, Any] = json.loads((folder / "seen.json").read_text())
    return found


@pytest.mark.parametrize("warm", [False, True])
def test_a_training_leaves_an_adapter_and_its_log_and_tells_how_far_it_is(
    make, write_training, warm
):
    trainer = make(warm=warm)
    path = write_training()
    told: list[ProgressMessage] = []
    with hearing_progress(told.append):
        assert trainer.train(path) == path.parent / "adapter"
    assert told[-1] == "2 of 2 training steps, loss 0.500"
    assert (told[-1].done, told[-1].total) == (2, 2)
    files = {str(p.relative_to(path.parent)) for p in path.parent.rglob("*") if p.is_file()}
    assert {name for name in files if not name.startswith("dataset/")} - {"worker.log"} == {
        "adapter/adapter_config.json",
        "adapter/adapter_model.safetensors",
        "all_results.json",
        "llama_factory.log",
        "seen.json",
        "trainer_log.jsonl",
        "training.yaml",
    }
    assert "[INFO] training" in (path.parent / "llama_factory.log").read_text()
    trainer.close()


def test_a_whole_student_is_kept_as_it_is(make, write_training):
    path = write_training(finetuning_type="full")
    names = {file.name for file in make("student").train(path).iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json"}


@pytest.mark.parametrize("warm", [False, True])
def test_gpus_and_threads_are_the_environment_of_the_training(
    make, write_training, monkeypatch, warm
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    trainer = make(warm=warm, gpus=[2], threads=3, environment={"NCCL_DEBUG": "INFO"})
    trainer.train(path := write_training())
    trainer.close()
    environment = seen(path.parent)["environment"]
    assert environment["CUDA_VISIBLE_DEVICES"] == "2"
    assert environment["OMP_NUM_THREADS"] == "3"
    assert environment["NCCL_DEBUG"] == "INFO"
    assert environment["PATH"].startswith(str(Path(trainer.command[0]).parent))
    assert "FORCE_TORCHRUN" not in environment


def test_several_gpus_and_deepspeed_are_driven_by_torchrun_without_a_warm_worker(
    make, write_training
):
    trainer = make(warm=True, gpus=[2, 3])
    assert trainer.worker is None
    trainer.train(path := write_training())
    environment = seen(path.parent)["environment"]
    assert environment["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert environment["FORCE_TORCHRUN"] == "1"
    assert environment["NPROC_PER_NODE"] == "2"
    on_one = make(gpus=[5], deepspeed={"zero_optimization": {"stage": 2}})
    assert on_one.environment["FORCE_TORCHRUN"] == "1"
    assert on_one.environment["NPROC_PER_NODE"] == "1"


FAILURES = {
    "disk_full": "No space left",
    "bad_value": r"exit code 1 \(ValueError: Target modules \{'nothing'\} not found\)",
    "killed": "SIGKILL",
    "nothing": r"wrote no adapter \(adapter_config\.json and adapter_model\.safetensors\)",
}


@pytest.mark.parametrize("warm", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("does", FAILURES)
def test_a_failure_gives_reason_and_solution_and_can_be_retried(make, write_training, does, warm):
    path = write_training()
    trainer = make(does, warm=warm)
    with pytest.raises(TrainingError, match=rf"(?s){FAILURES[does]}.*llama_factory\.log"):
        trainer.train(path)
    trainer.close()
    assert not (path.parent / "adapter").exists()
    assert warm or make().train(path).is_dir()


def test_an_interrupted_training_continues_from_its_last_whole_checkpoint(make, write_training):
    trainer = make("dies_after_checkpoints")
    path = write_training(save_strategy="steps", extra={"save_steps": 5})
    with pytest.raises(TrainingError):
        trainer.train(path)
    assert "resume_from_checkpoint" not in seen(path.parent)["options"]
    output = trainer.train(path)
    checkpoint = path.parent / ".adapter.training" / "checkpoint-10"
    assert read_json(output / "adapter_config.json") == {"resumed": str(checkpoint)}
    assert sorted(file.name for file in output.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "other", [{"learning_rate": 0.5}, {"save_strategy": "no"}, {"extra": {"save_steps": 6}}]
)
def test_another_training_does_not_go_on_from_its_checkpoints(make, write_training, other):
    trainer = make("dies_after_checkpoints")
    options = {"save_strategy": "steps", "extra": {"save_steps": 5}}
    with pytest.raises(TrainingError):
        trainer.train(write_training(**options))
    path = write_training(**{**options, **other})
    with pytest.raises(TrainingError):
        trainer.train(path)
    assert "resume_from_checkpoint" not in seen(path.parent)["options"]


@pytest.mark.parametrize("how", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copied_or_sent_elsewhere_it_is_the_same_trainer(make, how):
    trainer = make(gpus=[1, 2], threads=2, environment={"A": "b"}, lora_rank=3)
    other = how(trainer)
    assert other.config == trainer.config
    assert other.config.lora_rank == 3
    assert (other.command, other.gpus, other.threads) == (trainer.command, (1, 2), 2)
    assert other.environment == trainer.environment


def test_a_program_that_is_not_there_is_named(make):
    with pytest.raises(ConfigurationError, match="external install"):
        make(command="/no/cli")


def test_a_warm_worker_needs_an_interpreter_next_to_the_program(command):
    Path(command).with_name("python").unlink()
    with pytest.raises(ConfigurationError, match="interpreter"):
        LlamaFactoryTrainer(command=command)
    LlamaFactoryTrainer(command=command, warm=False)


def test_a_command_may_be_a_line_or_a_list_of_words(command, write_training):
    for given in (f"'{command}'", [command], f"env STAND_IN=train '{command}'"):
        assert LlamaFactoryTrainer(command=given, warm=False).train(write_training()).is_dir()


def test_without_the_pinned_environment_the_command_that_builds_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DATAENVGYM_CACHE", str(tmp_path))
    for command in (None, "", " ", []):
        with pytest.raises(ExternalError, match="install llamafactory"):
            LlamaFactoryTrainer(command=command)


def to_scored(path: Path, **options: Any) -> Path:
    """The same training, in stage `scored`."""
    TrainingConfig.read(path).with_options(stage="scored", **options).write(path)
    return path


@pytest.mark.parametrize("warm", [False, True])
def test_scored_records_are_trained_by_our_script_with_our_options(make, write_training, warm):
    path = to_scored(write_training(), scored_reduction="token_mean", scored_clip=0.2)
    assert make(warm=warm).train(path) == path.parent / "adapter"
    found = seen(path.parent)
    assert found["program"] == "scored_training.py"
    assert found["options"]["scored_clip"] == "0.2"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((n, {"stage": "scored", "extra": {n: 1}}) for n in ("train_on_prompt", "use_dft_loss")),
        ("ld_alpha", {"stage": "dpo", "pref_discount": 0.7, "extra": {"ld_alpha": 0.5}}),
    ],
)
def test_options_that_our_changes_do_not_support_are_refused(make, write_training, name, options):
    path = write_training()
    TrainingConfig.read(path).with_options(**options).write(path)
    with pytest.raises(UnsupportedStageError, match=f"{name} is "):
        make().train(path)
    assert not (path.parent / "llama_factory.log").exists()


def test_scored_records_need_the_interpreter_of_llama_factory(make, write_training, command):
    path = to_scored(write_training())
    with pytest.raises(ConfigurationError, match="interpreter"):
        make(command=["env", command]).train(path)


@pytest.mark.parametrize(
    ("n", "options", "program"),
    [
        (3, {}, "scored_training.py"),
        (1, {"pref_discount": 0.7}, "scored_training.py"),
        (1, {}, "stand_in.py"),
    ],
)
def test_pairs_of_several_turns_are_trained_by_our_script(
    make, write_training, n, options, program
):
    path = write_training(stage="dpo", **options)
    chosen, rejected = (
        tuple(Message(role="user" if i % 2 else "assistant", content=text) for i, text in said)
        for said in (enumerate((reply, "and?", "so")[:n]) for reply in ("yes", "no"))
    )
    pairs = [PreferenceDatum(instruction="q", chosen=chosen, rejected=rejected)]
    written = write_dataset(path.parent / "dataset", pairs)
    TrainingConfig.read(path).with_options(dataset=written.name).write(path)
    make(warm=False).train(path)
    found = seen(path.parent)
    assert found["program"] == program
    assert found["options"].get("pref_discount") == (
        str(options["pref_discount"]) if options else None
    )


def test_records_that_llama_factory_would_all_cut_stop_the_training(
    make, write_training, tiny_student
):
    path = write_training(model_name_or_path=tiny_student, cutoff_len=4)
    with pytest.raises(TrainingError, match=r"cutoff_len .4 tokens"):
        make().train(path)
    assert not (path.parent / "trainer_log.jsonl").exists()


def test_the_effective_batch_size_is_over_all_gpus(make, monkeypatch):
    options = {"effective_batch_size": 16, "per_device_train_batch_size": 1}
    module = "dataenvgym.students.trainers.llama_factory.trainer"
    monkeypatch.setattr(f"{module}.has_cuda", lambda: True)
    assert make(gpus=range(8), **options).config.gradient_accumulation_steps == 2
    with pytest.raises(ConfigurationError, match="set gpus"):
        make(**options)
    monkeypatch.setattr(f"{module}.has_cuda", lambda: False)
    assert make(**options).config.gradient_accumulation_steps == 16
