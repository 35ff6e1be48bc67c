"""Base models and tokenizers, loaded from disk once and shared.

The model that `load_base_model` returns is shared. Code that changes it (adds an adapter, trains)
must use a `twin`, which shares the memory of the weights and has modules of its own.
"""

from __future__ import annotations

import copy
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from dataenvgym.errors import BrokenFileError, ConfigurationError
from dataenvgym.events import raise_if_cancelled
from dataenvgym.storage import LARGEST, open_file, read_json
from dataenvgym.students.external.memory import free_memory
from dataenvgym.students.trainers import compute
from dataenvgym.students.trainers.chat_format import (
    BARE_TEMPLATE,
    check_chat_template,
    fix_template,
    without_clock,
)
from dataenvgym.students.trainers.large import MOST_PACKED, share_freed_memory

_LOADED: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
_LOADING = threading.Lock()


def load_base_model(student: str, *, device: torch.device, dtype: torch.dtype) -> Any:
    """The student's causal language model, frozen and in evaluation mode.

    Args:
        student: folder in Hugging Face format, or a name on the hub.

    Raises:
        ConfigurationError: if the model does not exist, or needs more memory than there is.
    """
    key = (student, _state(student), str(device), dtype)
    with _LOADING:
        model: Any = _LOADED.get(key)
        if model is None:
            with _loading(student):
                if device.type == "cpu":
                    _check_memory(student, dtype)
                model = AutoModelForCausalLM.from_pretrained(
                    student, trust_remote_code=False, dtype=dtype
                )
            model.to(device).eval().requires_grad_(False)
            # every computation ends before its next layer when cancelled: a batch takes minutes
            for layers in model.modules():
                for layer in layers if isinstance(layers, torch.nn.ModuleList) else ():
                    layer.register_forward_pre_hook(lambda *_: raise_if_cancelled())
            if compute.is_large(model):
                share_freed_memory()
            _LOADED[key] = model
    return model


def load_tokenizer(
    student: str,
    *,
    download: bool = True,
    template: str | None = None,
    reads_clock: bool = False,
    chat_template_kwargs: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """The student's tokenizer.

    Args:
        template: "empty" replaces its chat template by LLaMA-Factory's template of that name.
        download: whether it may come from the hub, if it is not on this machine.
        reads_clock: whether its chat template may write today's date, as at a server.
        chat_template_kwargs: values that its chat template has in every rendering.

    Raises:
        ConfigurationError: if there is none, or it has no token that ends a turn.
    """
    with _loading(student):
        tokenizer = AutoTokenizer.from_pretrained(
            student, trust_remote_code=False, local_files_only=not download
        )
    if tokenizer.eos_token_id is None:
        raise ConfigurationError(
            f"the tokenizer of {student!r} has no eos_token, expected the token that ends a turn"
        )
    if isinstance(tokenizer.chat_template, str) and not _ends(tokenizer.chat_template):
        raise ConfigurationError(
            f"the chat template of {student!r} takes too much time or memory to render, expected "
            "one that ends: replace chat_template.jinja in its folder"
        )
    if not reads_clock and isinstance(tokenizer.chat_template, str):
        tokenizer.chat_template = without_clock(tokenizer.chat_template)
    if template == "empty":
        tokenizer.chat_template = BARE_TEMPLATE
    elif chat_template_kwargs:
        check_chat_template(tokenizer)
        fix_template(tokenizer, chat_template_kwargs)
    return tokenizer


@lru_cache(maxsize=64)
def _ends(template: str) -> bool:
    """True if the chat template renders usual conversations within limits (`template_probe`)."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(Path(__file__).with_name("template_probe.py"))],
            input=template.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def twin(model: Any) -> Any:
    """A copy of the model with modules of its own on the same weights.

    Replacing modules, or the tensor of a parameter, does not change the original; writing into a
    tensor does.
    """
    memo: dict[int, Any] = {
        id(p): torch.nn.Parameter(p.detach(), requires_grad=False) for p in model.parameters()
    }
    memo |= {id(b): b for b in model.buffers()}
    return copy.deepcopy(model, memo)


def fingerprint(student: str) -> str:
    """SHA-256 (hex) of the files that define the student; a hub name is returned unchanged."""
    return _fingerprint(student, _state(student)) if Path(student).is_dir() else student


@lru_cache(maxsize=16)  # half a gigabyte takes a second to read
def _fingerprint(student: str, state: tuple[tuple[str | int, ...], ...]) -> str:
    digest = hashlib.sha256()
    for file in _files(Path(student)):
        digest.update(f"{file.name}\0".encode())
        with open_file(file) as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()


def _check_memory(student: str, dtype: torch.dtype) -> None:
    """Refuse weights that are larger than the free memory; else the system would end the process.

    Also refuse more layers than there are weights: to build them could take hours.

    The weights of a hub name are not counted.
    """
    weights = list(Path(student).glob("*.safetensors")) if Path(student).is_dir() else []
    count = tensors_there = 0
    for file in weights:
        with safe_open(file, framework="pt") as tensors:
            tensors_there += len(tensors.keys())
            count += sum(prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118  not a dict
    config = read_json(Path(student) / "config.json") if weights else {}
    layers = config.get("num_hidden_layers") if isinstance(config, dict) else None
    if isinstance(layers, int) and layers > tensors_there:
        raise ConfigurationError(
            f"{student} has {tensors_there} weights, expected some for each of {layers} layers"
        )
    needed, free, copies = count * dtype.itemsize, free_memory(), ""
    if count >= compute.LARGE and needed <= MOST_PACKED:
        needed, copies = 2 * needed, " (half of it for a copy that generation reads faster)"
    if needed > free:
        raise ConfigurationError(
            f"not enough memory: the weights of {student} need {needed / 1e9:.1f} GB in "
            f"{str(dtype).removeprefix('torch.')}{copies}, and {free / 1e9:.1f} GB are free. End "
            "other programs, or choose a smaller student."
        )


def _files(folder: Path) -> list[Path]:
    kinds = (".safetensors", ".bin", ".json", ".jinja", ".model")
    for file in folder.iterdir():
        if not file.is_dir():
            with open_file(file) as stream:
                size = os.fstat(stream.fileno()).st_size
            if size > LARGEST and file.suffix in (".json", ".jinja"):
                raise BrokenFileError(f"{file} is damaged: it has {size} bytes")
    return sorted(file for file in folder.iterdir() if file.suffix in kinds)


def _state(student: str) -> tuple[tuple[str | int, ...], ...]:
    """A value that changes when the student's files do, also if a copy keeps size and time."""
    folder = Path(student)
    files = _files(folder) if folder.is_dir() else []
    known = ((f.name, f.stat()) for f in files)
    return tuple((n, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for n, s in known)


@contextmanager
def _loading(student: str) -> Iterator[None]:
    """Check the files, and name the student in whatever error they lead to."""
    with without_progress_bar():
        try:
            _state(student)
            file = Path(student) / "config.json"
            if file.is_file() and _names_kernel(read_json(file)):
                raise ValueError(f"{file}: an attn_implementation of the hub is a stranger's code")
            yield
        except Exception as error:  # transformers raises what it likes for a damaged file
            raise ConfigurationError(
                f"student {student!r} cannot be loaded, expected a folder in Hugging Face format "
                f"or a name on its hub: {error}"
            ) from error


def _names_kernel(value: Any, key: str = "") -> bool:
    """Whether a configuration names a repository, whose code transformers would run."""
    if not isinstance(value, dict):
        return "_implementation" in key and "/" in str(value)
    return any(_names_kernel(inner, f"{key}.{name}") for name, inner in value.items())


@contextmanager
def without_progress_bar() -> Iterator[None]:
    """Let transformers load and save without a progress bar."""
    logging: Any = transformers_logging
    shows_progress = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shows_progress:
            logging.enable_progress_bar()
