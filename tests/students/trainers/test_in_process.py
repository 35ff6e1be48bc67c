import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from dataenvgym import events
from dataenvgym.errors import (
    ConfigurationError,
    DatasetFormatError,
    TrainingError,
    UnsupportedStageError,
)
from dataenvgym.events import hearing_warnings
from dataenvgym.records import (
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)
from dataenvgym.storage import hash_files, read_json, read_jsonl
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.training_config import trainer_with
from dataenvgym.students.trainers import InProcessTrainer
from dataenvgym.students.trainers.in_process import training
from tests.students.trainings import losses, write_training

RECORDS = [SupervisedDatum(instruction=f"say {n}", output=f"{n}!" * (n % 3 + 1)) for n in range(20)]

FAST = {"per_device_train_batch_size": 20, "learning_rate": 1e-2}


def prepare(
    folder: Path, student: Path, records: Sequence[TrainingDatum], **options: Any
) -> tuple[InProcessTrainer, Path]:
    """A trainer and the file that it is to train by."""
    one = {"seed": options.pop("seed", 3), "model_name_or_path": student}
    if "adapter" in options:
        one["adapter_name_or_path"] = options.pop("adapter")
    settings = {"threads": 2, "num_train_epochs": 2, "per_device_train_batch_size": 4, **options}
    trainer = InProcessTrainer(**settings)
    return trainer, write_training(folder, records, trainer.config, **one)


def train(
    folder: Path, student: Path, records: Sequence[TrainingDatum] = RECORDS, **options: Any
) -> Path:
    trainer, path = prepare(folder, student, records, **options)
    return trainer.train(path)


def test_a_training_leaves_an_adapter_and_a_log(tmp_path, tiny_student):
    heard: list[events.ProgressMessage] = []
    with events.hearing_progress(heard.append):
        adapter = train(tmp_path, tiny_student, lora_rank=4)
    assert [(m.done, m.total) for m in heard] == [(n, 10) for n in range(11)]
    counted, loss, pace = heard[-1].split(", ")
    assert (counted, loss) == ("10 of 10 training steps", f"loss {losses(adapter)[-1]:.3f}")
    assert re.fullmatch(r"[1-9]\d* tokens/s", pace)
    assert adapter == tmp_path / "adapter"
    config = read_json(adapter / "adapter_config.json")
    assert config["base_model_name_or_path"] == str(tiny_student)
    assert (config["r"], config["peft_type"], config["task_type"]) == (4, "LORA", "CAUSAL_LM")
    log = list(read_jsonl(tmp_path / "trainer_log.jsonl"))
    assert [line["step"] for line in log] == list(range(1, 11))
    assert log[-1]["epoch"] == 2.0
    assert {"loss", "grad_norm", "learning_rate"} <= log[0].keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "adapter",
        "dataset",
        "trainer_log.jsonl",
        "training.yaml",
    ]


@pytest.mark.parametrize("options", [{"threads": 1}, {"threads": 2}, {"lora_dropout": 0.2}])
def test_the_same_seed_gives_the_same_adapter_and_the_global_generator_is_left_alone(
    tmp_path, tiny_student, options, monkeypatch
):
    # even the batches of a tiny student are divided
    monkeypatch.setattr("dataenvgym.students.trainers.loop._WORTH_A_PART", 1)
    hashes = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        torch.rand(3)  # whatever else draws from the global generator
        state, threads = torch.random.get_rng_state(), torch.get_num_threads()
        hashes.append(hash_files(train(tmp_path / name, tiny_student, seed=seed, **options)))
        assert torch.equal(torch.random.get_rng_state(), state)
        assert torch.get_num_threads() == threads
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.parametrize(
    ("records", "options", "first", "share"),
    [
        (RECORDS, FAST, None, 0.4),
        (RECORDS[:4], {**FAST, "bf16": True}, None, 0.7),
        ([PreferenceDatum(instruction=f"q{n}", chosen="yes", rejected="no") for n in range(8)],
            {}, math.log(2), 0.5),
        ([KTODatum(instruction=f"q{n}", output="yes" if n % 2 else "no", desirable=bool(n % 2))
            for n in range(8)], {"learning_rate": 1e-2}, 0.5, 0.8),
    ],
    ids=["supervised", "bfloat16", "preference", "kto"],
)  # fmt: skip
def test_records_are_learned(tmp_path, tiny_student, records, options, first, share):
    adapter = train(tmp_path, tiny_student, records, num_train_epochs=20, **options)
    if first is not None:
        assert losses(adapter)[0] == pytest.approx(first, abs=1e-4)
    assert losses(adapter)[-1] < share * losses(adapter)[0]


def test_plain_text_is_learned(tmp_path, tiny_student):
    texts = [TextDatum(text=f"line {n} of a song") for n in range(12)]
    plain = train(tmp_path / "plain", tiny_student, texts, **FAST, num_train_epochs=20)
    assert losses(plain)[-1] < 0.5 * losses(plain)[0]
    packed = train(tmp_path / "packed", tiny_student, texts, packing=True, cutoff_len=31)
    # 12 texts of 15 or 16 bytes and their ends, in blocks of 30: 7 blocks, 2 epochs of 2 steps
    assert len(losses(packed)) == 4


def scored(n: int, *turns: tuple[str, float]) -> ScoredDatum:
    messages = [
        message
        for reply, _ in turns
        for message in (
            Message(role="user", content=f"q{n}"),
            Message(role="assistant", content=reply),
        )
    ]
    return ScoredDatum(messages=tuple(messages), weights=tuple(weight for _, weight in turns))


SCORED = [scored(n, ("yes", 1.0), ("no" * (n % 3 + 1), -0.5)) for n in range(10)]


def test_turns_are_learned_by_their_weights(tmp_path, tiny_student):
    adapter = train(tmp_path, tiny_student, SCORED, num_train_epochs=10, learning_rate=5e-3)
    # each turn begins near -log p = log of the vocabulary's size: (1 - .5) / 2 of that
    assert losses(adapter)[-1] < losses(adapter)[0] - 0.5
    supervised = [SupervisedDatum(instruction="q1", output=text) for text in ("yes", "no")]
    good, bad = (
        losses(train(tmp_path / text, tiny_student, [record], adapter=adapter, max_steps=1))[0]
        for text, record in zip(("yes", "no"), supervised, strict=True)
    )
    assert good < bad


def test_a_clipped_training_begins_at_the_weights_and_moves_less(tmp_path, tiny_student):
    options = {"num_train_epochs": 10, "learning_rate": 5e-3, "per_device_train_batch_size": 10}
    adapter = train(tmp_path / "clipped", tiny_student, SCORED, scored_clip=0.2, **options)
    # every ratio is 1: -(1 - .5) / 2
    assert losses(adapter)[0] == pytest.approx(-0.25, abs=1e-5)
    # and at the end -(1.2 * 1 - .8 * .5) / 2 at best
    assert -0.4 - 1e-6 <= losses(adapter)[-1] < -0.3


def test_a_run_is_warned_of_turns_that_are_cut_off(tmp_path, tiny_student):
    told: list[str] = []
    records = [*SCORED[:2], scored(7, ("long" * 20, 1.0))]
    with hearing_warnings(told.append):
        train(tmp_path, tiny_student, records, cutoff_len=12, max_steps=1)
    (text,) = told
    assert "3 of 5 turns" in text
    assert "1 of 3 records" in text


LONG = "long" * 20


@pytest.mark.parametrize(
    ("record", "options", "said"),
    [
        (SupervisedDatum(instruction="2", output=LONG), {"cutoff_len": 30},
            r"1 of 1 records.*set trainer\.cutoff_len="),
        (SCORED[0], {"cutoff_len": 4}, "set cutoff_len higher"),
        (TextDatum(text="short"), {"packing": True}, "do not fill one block of 511 tokens"),
    ],
)  # fmt: skip
def test_a_run_that_could_learn_nothing_whole_ends_before_the_training(
    tmp_path, tiny_student, record, options, said
):
    with pytest.raises(TrainingError, match=said):
        train(tmp_path, tiny_student, [record], **options)
    assert not list(tmp_path.rglob("trainer_log.jsonl"))


def test_a_training_that_breaks_down_names_the_step_and_leaves_no_adapter(tmp_path, tiny_student):
    with pytest.raises(TrainingError, match="expected finite"):
        train(tmp_path, tiny_student, learning_rate=1e38, max_grad_norm=0, weight_decay=1e38)
    assert not (tmp_path / "adapter").exists()


@pytest.mark.parametrize(
    ("stage", "said"), [("ppo", "'ppo'"), ("dpo", r"'supervised'.*stage 'dpo'")]
)
def test_another_stage_is_refused_before_anything_is_written(tmp_path, tiny_student, stage, said):
    trainer, path = prepare(tmp_path, tiny_student, RECORDS)
    TrainingConfig.read(path).with_options(stage=stage).write(path)
    with pytest.raises((UnsupportedStageError, DatasetFormatError), match=said):
        trainer.train(path)
    assert not (tmp_path / "adapter").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"learning_rte": 1e-3}, "learning_rte"),
        ({"seed": 1}, "'seed'"),
        ({"template": "llama3"}, "template is 'llama3'"),
        ({"save_strategy": "steps"}, "save_strategy is 'steps', expected 'no'"),
    ],
)
def test_options_are_checked_when_the_trainer_is_made(options, expected):
    with pytest.raises((ConfigurationError, UnsupportedStageError), match=expected):
        InProcessTrainer(**options)


@pytest.mark.slow
def test_another_process_makes_the_same_adapter(tmp_path, tiny_student):
    hashes = {hash_files(train(tmp_path / "here", tiny_student))}
    script = (
        "import sys; from pathlib import Path\n"
        "from dataenvgym.students.trainers import InProcessTrainer\n"
        "InProcessTrainer(threads=2).train(Path(sys.argv[1]))"
    )
    for seed in ("1", "2"):
        _, path = prepare(tmp_path / seed, tiny_student, RECORDS)
        # sets iterate in another order, and torch would take more threads
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "2"}
        subprocess.run([sys.executable, "-c", script, str(path)], check=True, env=environment)
        hashes.add(hash_files(tmp_path / seed / "adapter"))
    assert len(hashes) == 1


def test_the_prompt_is_learned_too_with_train_on_prompt(tiny_student, tmp_path):
    found = {}
    for name, extra in (("answers", {}), ("all", {"train_on_prompt": True})):
        trainer, path = prepare(tmp_path / name, tiny_student, RECORDS[:4], extra=extra)
        with training(TrainingConfig.read(path), 1, "cpu") as begun:
            (update,) = begun.objective.scales([range(4)])
            found[name] = round(1 / update)  # the number of tokens that are learned
        trainer.train(path)
    assert found["answers"] == sum(len(record.output) + 1 for record in RECORDS[:4])
    # "say 0<|end|><|assistant|>"; the first token, <|user|>, has no token before it
    assert found["all"] == found["answers"] + 4 * (len("say 0") + 2)
    assert hash_files(tmp_path / "all/adapter") != hash_files(tmp_path / "answers/adapter")


def test_an_effective_batch_size_also_holds_after_a_change_of_options():
    trainer = InProcessTrainer(effective_batch_size=16, per_device_train_batch_size=4)
    for options, steps in (
        ({"per_device_train_batch_size": 8}, 2),
        ({"effective_batch_size": 64}, 16),
        ({"learning_rate": 1e-4}, 4),
    ):
        assert trainer_with(trainer, options).config.gradient_accumulation_steps == steps
    with pytest.raises(ConfigurationError, match="expected a multiple of 5"):
        trainer_with(trainer, {"per_device_train_batch_size": 5})
    own = trainer_with(trainer, {"gradient_accumulation_steps": 3}).config
    assert (own.effective_batch_size, own.gradient_accumulation_steps) == (None, 3)
    limited = InProcessTrainer(max_steps=3)
    assert trainer_with(limited, {"num_train_epochs": 2.0}).config.max_steps == -1
    assert trainer_with(limited, {"learning_rate": 1e-3}).config.max_steps == 3
