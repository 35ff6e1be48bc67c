"""The options of a training as keyword arguments; `TrainingConfig` explains them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from dataenvgym.students.llama_factory.curriculum import Curriculum

Schedule = Literal[
    "linear",
    "cosine",
    "cosine_with_restarts",
    "polynomial",
    "constant",
    "constant_with_warmup",
    "inverse_sqrt",
]
_Names = str | Sequence[str]
_Path = str | os.PathLike[str]


class TrainingOptions(TypedDict, total=False):
    """The options that a trainer has for all its trainings."""

    do_train: bool
    finetuning_type: Literal["lora", "freeze", "full"]
    lora_rank: int
    lora_alpha: int
    lora_dropout: float
    lora_target: _Names
    use_rslora: bool
    use_dora: bool
    quantization_bit: Literal[2, 3, 4, 5, 6, 8] | None
    deepspeed: _Path | Mapping[str, Any] | None
    pref_beta: float
    pref_ftx: float
    pref_discount: float | None
    pref_loss: Literal["sigmoid", "hinge", "ipo", "kto_pair", "orpo", "simpo"]
    kto_chosen_weight: float
    kto_rejected_weight: float
    scored_reduction: Literal["mean", "sum", "token_mean"]
    scored_clip: float | None
    scored_clip_high: float | None
    scored_clip_dual: float | None
    scored_kl: float | None
    scored_as: Literal["sft", "kto", "dpo"] | None
    scored_threshold: float
    scored_segment: int | Literal["tail"] | None

    template: str | None
    cutoff_len: int
    packing: bool
    overwrite_cache: bool

    overwrite_output_dir: bool
    logging_steps: int
    save_strategy: Literal["no", "steps", "epoch", "best"]
    report_to: _Names

    per_device_train_batch_size: int
    gradient_accumulation_steps: int
    effective_batch_size: int | None
    curriculum: Curriculum | Mapping[str, Any] | None
    learning_rate: float
    num_train_epochs: float
    max_steps: int
    lr_scheduler_type: Schedule
    warmup_steps: float
    weight_decay: float
    max_grad_norm: float
    bf16: bool
    fp16: bool

    extra: Mapping[str, Any]


class OneTraining(TrainingOptions, total=False):
    """All options, with those that belong to one training."""

    model_name_or_path: _Path | None
    adapter_name_or_path: _Path | None
    stage: Literal["pt", "sft", "rm", "ppo", "dpo", "kto", "scored"]
    dataset: _Names | None
    dataset_dir: _Path | None
    output_dir: _Path | None
    chat_template_kwargs: Mapping[str, Any]
    seed: int
