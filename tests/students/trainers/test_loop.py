"""The optimization against the one it must agree with: transformers' own trainer."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dataenvgym.records import SupervisedDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers import loop
from dataenvgym.students.trainers.adapters import Adapter, new_adapter, speed_up_layers
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import supervised_examples
from dataenvgym.students.trainers.loop import optimize, warmup_steps
from dataenvgym.students.trainers.objectives import CrossEntropy, pad, padder
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

CPU = torch.device("cpu")
RECORDS = [SupervisedDatum(instruction=f"say {n}", output=f"{n}!" * (n % 5 + 1)) for n in range(21)]


def transformers_training(
    model: Any, examples: list[Any], config: TrainingConfig, folder: Path
) -> list[dict[str, float]]:
    from transformers import Trainer, TrainingArguments

    def collate(rows: list[dict[str, int]]) -> dict[str, torch.Tensor]:
        batch = pad([examples[row["i"]] for row in rows], 0, CPU)
        return {"input_ids": batch.tokens, "attention_mask": batch.mask, "labels": batch.labels}

    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=config.per_device_train_batch_size,
        gradient_accumulation_steps=config.gradient_accumulation_steps,
        learning_rate=config.learning_rate,
        num_train_epochs=config.num_train_epochs,
        lr_scheduler_type=config.lr_scheduler_type,
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        seed=config.seed,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        remove_unused_columns=False,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=[{"i": i} for i in range(len(examples))],  # type: ignore[arg-type]
        data_collator=collate,
    )
    trainer.train()
    return [line for line in trainer.state.log_history if "loss" in line]


@pytest.mark.parametrize(
    "options",
    [
        {"lr_scheduler_type": "cosine", "warmup_steps": 3, "weight_decay": 0.1},
        {
            "lr_scheduler_type": "linear",
            "gradient_accumulation_steps": 2,
            "max_grad_norm": 0.3,
            "use_rslora": True,
        },
    ],
    ids=["cosine", "accumulated"],
)
def test_every_step_is_the_one_that_transformers_takes(
    tiny_student, tmp_path, options, monkeypatch
):
    monkeypatch.setattr(loop, "_WORTH_A_PART", 1)
    config = TrainingConfig(
        per_device_train_batch_size=4, num_train_epochs=2.5, learning_rate=5e-3, seed=11, **options
    )
    tokenizer = load_tokenizer(str(tiny_student))
    base = load_base_model(str(tiny_student), device=CPU, dtype=torch.float32)
    examples = supervised_examples(RECORDS, tokenizer, 60)

    ours = new_adapter(base, config)
    speed_up_layers(ours)
    with workers(2, CPU) as run:
        objective = CrossEntropy(examples, padder(0, CPU))
        log = list(optimize(ours, objective, config, parts=2, run=run))
    with torch.random.fork_rng(devices=[]):
        theirs = new_adapter(base, config)
        their_log = transformers_training(theirs, examples, config, tmp_path)

    assert len(log) == len(their_log) > 6
    for step, line in zip(log, their_log, strict=True):
        assert step.loss == pytest.approx(line["loss"], rel=1e-3)
        assert step.grad_norm == pytest.approx(line["grad_norm"], rel=1e-2)
        assert step.learning_rate == pytest.approx(line["learning_rate"], rel=1e-5)
        assert step.epoch == pytest.approx(line["epoch"], abs=1e-3)
    mine, other = (Adapter.of(model, "").weights for model in (ours, theirs))
    for name, weight in mine.items():
        assert torch.allclose(weight, other[name], atol=1e-3), name


def test_a_warmup_below_one_is_a_share_of_all_steps():
    assert warmup_steps(TrainingConfig(warmup_steps=0.1), 25) == 3
    assert warmup_steps(TrainingConfig(warmup_steps=4), 25) == 4
    assert warmup_steps(TrainingConfig(extra={"warmup_ratio": 0.2}), 25) == 5
