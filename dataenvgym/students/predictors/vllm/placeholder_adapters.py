"""Adapters that change nothing: one to answer with, and one to test a server.

Both are written byte by byte, in PEFT's format, without torch: they need only a name and a shape
from the student.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from dataenvgym import exact_json
from dataenvgym.storage import write_bytes, write_json

_LAYER = re.compile(r"(.*\.(?:q_proj|qkv_proj|query_key_value|o_proj|down_proj))\.weight")


def write_zero_adapter(folder: Path, student: str) -> Path | None:
    """Write an adapter with which the student answers as if it had none; return its folder.

    It has one layer of zeros. None if the student has no suitable layer.
    """
    for name, (n_out, n_in) in _layers(student):
        layer = f"base_model.model.{name}"
        shapes = {f"{layer}.lora_A.weight": (1, n_in), f"{layer}.lora_B.weight": (n_out, 1)}
        return _write(folder, name, 1, shapes)
    return None


def write_unloadable_adapter(folder: Path, rank: int) -> Path:
    """Write an adapter of that rank that no server can load, because it has no layers."""
    return _write(folder, "q_proj", rank, {})


def _write(folder: Path, target: str, rank: int, shapes: Mapping[str, tuple[int, int]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": [target]}
    write_json(folder / "adapter_config.json", config)
    header, size = {}, 0
    for name, shape in shapes.items():
        end = size + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [size, end]}
        size = end
    text = exact_json.dumps(header)
    weights = len(text).to_bytes(8, "little") + text + bytes(size)
    write_bytes(folder / "adapter_model.safetensors", weights)
    return folder


def _layers(student: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of linear layers, and their numbers of outputs and inputs."""
    for file in sorted(_folder(student).glob("*.safetensors")):
        with file.open("rb") as stream:
            header = exact_json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        for name, tensor in sorted(header.items()):
            if (match := _LAYER.fullmatch(name)) and len(tensor["shape"]) == 2:
                yield match[1], (tensor["shape"][0], tensor["shape"][1])


def _folder(student: str) -> Path:
    """The folder of the student's files; the server has already downloaded a name on the hub."""
    if Path(student).is_dir():
        return Path(student)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(student, local_files_only=True))
    except LocalEntryNotFoundError:
        return Path(student)
