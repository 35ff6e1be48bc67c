"""Reads training files with LLaMA-Factory itself; runs in its environment.

    python llama_factory_probe.py facts OUT.json
    python llama_factory_probe.py measure OUT.json TRAINING.yaml ...
    python llama_factory_probe.py read OUT.json FOLDER

`facts` writes the names of all options. `measure` writes for each training

    examples   the columns of the preprocessed dataset, a list for each
    batches    columns of each batch of the first epoch, in the order of training
    losses     the loss of each of these batches, with the weights that training begins with

`read` writes the turns and the system message of each row of each data set in the folder, calls as
the default format writes them, or the error.

Nothing is built by hand: `run_exp`, which `llamafactory-cli train` calls, builds dataset, model,
collator and trainer, and is stopped where it would begin to train.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

_COLUMNS = (
    *("input_ids", "labels", "kto_tags", "kl_input_ids", "kl_labels"),
    *("chosen_input_ids", "chosen_labels", "rejected_input_ids", "rejected_labels"),
)


def facts() -> list[str]:
    """The options that LLaMA-Factory knows."""
    from llamafactory.hparams.parser import _TRAIN_ARGS

    fields = [field for kind in _TRAIN_ARGS for field in dataclasses.fields(kind) if field.init]
    return sorted({field.name for field in fields})


class _Ready(Exception):
    """Everything is built, and training would begin."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer


def measure(path: Path) -> dict[str, Any]:
    """The trainer's input in the first epoch of the training in a YAML file."""
    import torch

    trainer = _trainer_of(path)
    batches, losses = [], []
    for batch in trainer.get_train_dataloader():
        batches.append({name: batch[name].tolist() for name in _COLUMNS if name in batch})
        with torch.no_grad():
            losses.append(float(trainer.compute_loss(trainer.model, batch)))
    dataset = trainer.train_dataset
    examples = {name: list(dataset[name]) for name in dataset.column_names if name in _COLUMNS}
    return {"examples": examples, "batches": batches, "losses": losses}


def read(folder: str) -> dict[str, Any]:
    """The rows of each data set in the folder, by its name."""
    from types import SimpleNamespace

    from llamafactory.data.formatter import FunctionFormatter
    from llamafactory.data.loader import _load_single_dataset
    from llamafactory.data.parser import get_dataset_list

    written = FunctionFormatter(slots=["{{content}}"], tool_format="default")
    named: dict[str, Any] = dict.fromkeys(("cache_dir", "hf_hub_token", "max_samples"))
    named |= {"dataset_dir": folder, "media_dir": folder, "overwrite_cache": True}
    named |= {"streaming": False, "preprocessing_num_workers": None, "local_process_index": 0}
    options = SimpleNamespace(**named)
    found: dict[str, Any] = {}
    for name in json.loads((Path(folder) / "dataset_info.json").read_text()):
        try:
            (attributes,) = get_dataset_list([name], folder)
            rows = [dict(r) for r in _load_single_dataset(attributes, options, options, options)]
            for turn in (t for row in rows for t in row["_prompt"] + row["_response"]):
                if turn["role"] == "function":
                    words = ("<think>\n", "\n</think>\n\n")
                    if turn["content"].startswith("<think>") and words[0] not in turn["content"]:
                        words = ("<think>", "</think>")  # as some templates have them
                    calls = ("<tool_call>", "</tool_call>")
                    (turn["content"],) = written.apply(
                        content=turn["content"], thought_words=words, tool_call_words=calls
                    )
            found[name] = [[row["_prompt"] + row["_response"], row["_system"]] for row in rows]
        except Exception as error:
            found[name] = repr(error)
    return found


def _trainer_of(path: Path) -> Any:
    """The trainer that `run_exp` builds for the file."""
    from llamafactory.train.tuner import run_exp
    from omegaconf import OmegaConf
    from transformers import Trainer

    def stop(trainer: Any, *_: Any, **__: Any) -> None:
        raise _Ready(trainer)

    with patch.object(Trainer, "train", stop):
        try:
            run_exp(OmegaConf.to_container(OmegaConf.load(path)))
        except _Ready as ready:
            return ready.trainer
    raise RuntimeError(f"{path}: LLaMA-Factory came to its end without training")


def main(mode: str, out: str, *trainings: str) -> None:
    """Write what `mode` asks for as JSON to `out`."""
    if mode == "read":
        result: Any = read(*trainings)
    else:
        result = facts() if mode == "facts" else [measure(Path(path)) for path in trainings]
    Path(out).write_text(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
