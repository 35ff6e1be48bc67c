"""The files of a training, as a predictor writes them, and its log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dataenvgym.records import Message, TrainingDatum
from dataenvgym.storage import read_jsonl
from dataenvgym.students.llama_factory import TrainingConfig, write_dataset


def write_training(
    folder: Path,
    records: Sequence[TrainingDatum],
    config: TrainingConfig | None = None,
    **options: Any,
) -> Path:
    """The YAML file for a training on the records, with their dataset beside it."""
    dataset = write_dataset(folder / "dataset", records)
    places = {"dataset": dataset.name, "dataset_dir": dataset.folder, "stage": dataset.stage}
    places["output_dir"] = folder / "adapter"
    config = (config or TrainingConfig()).with_options(**{**places, **options})
    config.write(folder / "training.yaml")
    return folder / "training.yaml"


def losses(output: Path) -> list[float]:
    """The loss of each update of the training that left this adapter."""
    return [
        line["loss"] for line in read_jsonl(output.parent / "trainer_log.jsonl") if "loss" in line
    ]


def spoken(*texts: str) -> tuple[Message, ...]:
    """The messages of user and assistant in turn."""
    return tuple(
        Message(role="assistant" if i % 2 else "user", content=text) for i, text in enumerate(texts)
    )
