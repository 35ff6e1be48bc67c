"""A student in this process: tokenizer, base model, and the adapter that it answers with."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.errors import AdapterError
from dataenvgym.storage import publishing, write_json
from dataenvgym.trainers.interface import ADAPTER_FILES

if TYPE_CHECKING:
    from dataenvgym.trainers.adapters import Adapter

# What `save` writes where nothing has been learnt.
_UNTOUCHED = "untouched.json"


class AdaptedStudent:
    """Loads what it needs when it is first needed.

    The base model is never changed. An adapter is put on a copy that shares its weights; in
    float32 it is then summed into copies of the weights that it adapts, which makes the student
    as fast as the base, while lower precisions would lose what was learnt and keep it apart.

    Args:
        name: folder in Hugging Face format, or a name on the hub.
        device: "cpu", "cuda" or "auto".
        dtype: name of a floating point type of torch's.

    Attributes:
        adapter_folder: from where the adapter was loaded; None for the untouched student.
    """

    def __init__(self, name: str, *, device: str, dtype: str) -> None:
        self.name = name
        self.adapter_folder: Path | None = None
        self._device = device
        self._dtype = dtype
        self._adapted: Any = None
        self._adapter: Adapter | None = None
        self._lock = threading.RLock()

    @property
    def model(self) -> Any:
        """The model with the adapter, if there is one."""
        with self._lock:
            return self._base if self._adapted is None else self._adapted

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer, which has a chat template."""
        from dataenvgym.trainers.chat_format import check_chat_template
        from dataenvgym.trainers.student import load_tokenizer

        with self._lock:
            tokenizer = load_tokenizer(self.name)
            check_chat_template(tokenizer)
            return tokenizer

    @cached_property
    def end_tokens(self) -> list[int]:
        """The tokens that end a reply, by the model's generation settings and the tokenizer."""
        settings = getattr(self._base, "generation_config", None)
        named = getattr(settings, "eos_token_id", None)
        ids = named if isinstance(named, list) else [named]
        return sorted({int(i) for i in (*ids, self.tokenizer.eos_token_id) if i is not None})

    @property
    def is_untouched(self) -> bool:
        """Whether there is no adapter."""
        return self._adapter is None

    def load(self, folder: Path) -> None:
        """Take up the adapter in `folder`, or none if `save` wrote that there is none.

        Raises:
            AdapterError: if there is nothing to load, or it is broken or fits another student;
                the student is then as before.
        """
        from dataenvgym.trainers.adapters import Adapter, put_on
        from dataenvgym.trainers.compute import workers
        from dataenvgym.trainers.merging import merge

        if (folder / _UNTOUCHED).is_file():
            self.reset()
            return
        adapter = Adapter.read(folder)
        make = merge if self._dtype == "float32" else put_on
        with self._lock:
            try:
                with workers(1, self._base.device):
                    self._adapted = make(self._base, adapter)
            except AdapterError as error:
                raise AdapterError(f"{folder}: {error}") from error
            self._adapter, self.adapter_folder = adapter, Path(folder)

    def save(self, folder: Path) -> None:
        """Write the adapter to `folder`, or that there is none; whole or not at all."""
        with publishing(folder) as new:
            if self._adapter is None:
                write_json(new / _UNTOUCHED, {"student": Path(self.name).name})
            else:
                self._adapter.write(new)

    def reset(self) -> None:
        """Have no adapter."""
        with self._lock:
            self._adapted, self._adapter, self.adapter_folder = None, None, None

    @cached_property
    def _base(self) -> Any:
        import torch

        from dataenvgym.trainers.compute import resolve_device
        from dataenvgym.trainers.student import load_base_model

        device = resolve_device(self._device)
        return load_base_model(self.name, device=device, dtype=getattr(torch, self._dtype))


def is_loadable(folder: Path) -> bool:
    """Whether the files that `AdaptedStudent.load` needs are there."""
    has_adapter = all((folder / name).is_file() for name in ADAPTER_FILES)
    return has_adapter or (folder / _UNTOUCHED).is_file()
