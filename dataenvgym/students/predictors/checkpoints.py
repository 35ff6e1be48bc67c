"""Checkpoints of a student as folders.

A checkpoint folder is one of three: an adapter in PEFT's format, a whole student in Hugging Face's
(after training all weights), or a note that nothing has been learned.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from dataenvgym.errors import AdapterError
from dataenvgym.storage import publishing, write_json
from dataenvgym.students.llama_factory.training_config import ADAPTER_FILES

Kind = Literal["adapter", "student", "nothing"]

_NOTHING = "untouched.json"


def kind_of(folder: Path) -> Kind | None:
    """The kind of checkpoint in the folder; None if it is not a checkpoint."""
    if all((folder / name).is_file() for name in ADAPTER_FILES):
        return "adapter"
    if (folder / _NOTHING).is_file():
        return "nothing"
    if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
        return "student"
    return None


def require_kind(folder: Path) -> Kind:
    """The kind of checkpoint in the folder.

    Raises:
        AdapterError: if it is not a checkpoint.
    """
    kind = kind_of(folder)
    if kind is None:
        raise AdapterError(
            f"{folder} holds no adapter, expected {' and '.join(ADAPTER_FILES)} there (or a whole "
            "student in Hugging Face format)"
        )
    return kind


def initial_folder(adapter: str | Path | None) -> Path | None:
    """The folder with a student's checkpoint from before an episode.

    Raises:
        AdapterError: if it is not a checkpoint.
    """
    if adapter is None:
        return None
    folder = Path(adapter).expanduser().absolute()
    return None if require_kind(folder) == "nothing" else folder


def save_nothing(folder: Path, student: str) -> None:
    """Write the note that nothing has been learned; `student` is for the reader."""
    with publishing(folder) as new:
        write_json(new / _NOTHING, {"student": Path(student).name})


def copy_checkpoint(source: Path, folder: Path) -> None:
    """Copy a checkpoint folder, completely or not at all."""
    with publishing(folder) as new:
        shutil.copytree(source, new, dirs_exist_ok=True)


def write_merged(student: str, checkpoint: Path, folder: Path) -> None:
    """Write the student with a checkpoint as a whole student: an adapter becomes part of it.

    The weights keep the type that they are stored in. They are merged on the CPU.

    Raises:
        AdapterError: if the folder is not a checkpoint, or the adapter fits another student.
    """
    if (kind := require_kind(checkpoint)) == "student":
        copy_checkpoint(checkpoint, folder)
        return
    import torch
    from transformers import AutoConfig

    from dataenvgym.students.trainers.adapters import Adapter, merge
    from dataenvgym.students.trainers.student import (
        load_base_model,
        load_tokenizer,
        without_progress_bar,
    )

    config = AutoConfig.from_pretrained(student, trust_remote_code=False)
    dtype = getattr(config, "dtype", None) or torch.float32
    model = load_base_model(student, device=torch.device("cpu"), dtype=dtype)
    if kind == "adapter":
        model = merge(model, Adapter.read(checkpoint))
    with publishing(folder) as new, without_progress_bar():
        model.save_pretrained(new)
        load_tokenizer(student).save_pretrained(new)
