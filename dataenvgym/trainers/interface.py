"""What a predictor asks of a trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from dataenvgym.llama_factory import TrainingConfig

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
"""What an adapter's folder holds, in PEFT's format."""


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
