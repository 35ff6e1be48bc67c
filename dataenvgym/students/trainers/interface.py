"""The options of a trainer."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TrainerInterface
from dataenvgym.students.llama_factory import TrainingConfig, TrainingOptions
from dataenvgym.students.llama_factory.options import OneTraining

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
"""The files in an adapter's folder, in PEFT's format."""


def options_of(trainer: TrainerInterface) -> TrainingConfig:
    """The options of every training of that trainer: its `config`, or the default ones.

    A predictor adds the options of one training: stage, student, dataset, folders, adapter to
    continue and seed.

    Raises:
        ConfigurationError: if it cannot train.
    """
    if not isinstance(trainer, TrainerInterface):
        raise ConfigurationError(
            f"the trainer is a {type(trainer).__name__}, which has no `train(config_path) -> "
            "Path`: expected the methods of dataenvgym.students.trainers.TrainerInterface"
        )
    return getattr(trainer, "config", None) or TrainingConfig()


def trainer_with(trainer: TrainerInterface, options: Mapping[str, Any]) -> TrainerInterface:
    """The same trainer with some options changed, such as `{"learning_rate": 1e-4}`.

    Options without a field in `TrainingConfig` go into `extra`.

    Raises:
        ConfigurationError: for an unknown option or an invalid value, and for a trainer without
            `config`.
        UnsupportedStageError: for an option that the trainer does not have.
    """
    if getattr(trainer, "config", None) is None:
        raise ConfigurationError(
            f"{type(trainer).__name__} has no `config`, so its options {sorted(options)} cannot be "
            "changed: give it one (see TrainerInterface)"
        )
    refuse_options_of_one_training(options)
    config, changed = options_of(trainer), copy.copy(trainer)
    own = {name: value for name, value in options.items() if name in TrainingConfig.model_fields}
    extra = {**config.extra, **{n: value for n, value in options.items() if n not in own}}
    if "gradient_accumulation_steps" in own:
        own = {"effective_batch_size": None, **own}
    elif config.effective_batch_size is not None:  # it decides again
        own = {"gradient_accumulation_steps": 1, **own}
    if "num_train_epochs" in own:
        own = {"max_steps": -1, **own}
    new = config.with_options(**{"extra": extra, **own})
    n_devices = len(getattr(trainer, "gpus", None) or (0,))
    changed.config = new.accumulating(n_devices)  # type: ignore[attr-defined]
    return changed


def refuse_options_of_one_training(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for options that a predictor sets for each training."""
    of_one = OneTraining.__annotations__.keys() - TrainingOptions.__annotations__.keys()
    if taken := [name for name in options if name in of_one]:
        raise ConfigurationError(
            f"{taken} belong to one training, and the predictor sets them; expected options "
            "that hold for every training"
        )
