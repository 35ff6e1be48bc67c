"""What a predictor asks of a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dataenvgym.errors import ConfigurationError
from dataenvgym.llama_factory import TrainingConfig

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
"""What an adapter's folder holds, in PEFT's format."""

_OF_ONE_TRAINING = (
    "model_name_or_path",
    "adapter_name_or_path",
    "stage",
    "dataset",
    "dataset_dir",
    "output_dir",
    "seed",
)


@runtime_checkable
class TrainerInterface(Protocol):
    """Something that trains an adapter as a LLaMA-Factory file says."""

    @property
    def config(self) -> TrainingConfig:
        """The options of every training. A predictor adds what belongs to one: stage, student,
        dataset, folders, adapter to go on from and seed."""
        ...

    def train(self, config_path: Path) -> Path:
        """Train as the YAML file says; the adapter's folder, in PEFT format, whole.

        Raises:
            UnsupportedStageError: for a stage or option that this trainer does not have.
            TrainingError: if there is no usable adapter at the end.
        """
        ...


def refuse_options_of_one_training(options: Mapping[str, Any]) -> None:
    """Raise ConfigurationError for options that a predictor sets anew for each training."""
    if taken := [name for name in options if name in _OF_ONE_TRAINING]:
        raise ConfigurationError(
            f"{taken} belong to one training, and the predictor sets them; expected options "
            "that hold for every training"
        )
