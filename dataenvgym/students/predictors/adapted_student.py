"""A student in this process: tokenizer, base model, and adapter."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.storage import publishing
from dataenvgym.students.predictors.checkpoints import (
    copy_checkpoint,
    kind_of,
    require_kind,
    save_nothing,
)

if TYPE_CHECKING:
    from dataenvgym.students.trainers.adapters import Adapter
    from dataenvgym.students.trainers.row_adapters import RowAdapters


class BaseStudent:
    """The untouched student: model and tokenizer, each loaded once, at first use.

    Args:
        name: folder in Hugging Face format, or a name on the hub.
        device: "cpu", "cuda" or "auto".
        dtype: name of a floating point type of torch.
        is_chat: whether it must have a chat template.
        chat_template_kwargs: see `load_tokenizer`.

    Attributes:
        lock: held while weights are loaded or an adapter is attached.
    """

    def __init__(
        self,
        name: str,
        *,
        device: str,
        dtype: str,
        is_chat: bool = True,
        chat_template_kwargs: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.lock = threading.RLock()
        self._device = device
        self._is_chat = is_chat
        self._chat_template_kwargs = chat_template_kwargs

    @cached_property
    def model(self) -> Any:
        """The model, which is never changed."""
        return self.load(self.name)

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer; that of a chat student has a chat template with a place for replies."""
        from dataenvgym.students.trainers.chat_format import ChatFormat
        from dataenvgym.students.trainers.student import load_tokenizer

        with self.lock:
            tokenizer = load_tokenizer(self.name, chat_template_kwargs=self._chat_template_kwargs)
            if self._is_chat:
                ChatFormat.parse(tokenizer)
            return tokenizer

    @cached_property
    def end_tokens(self) -> list[int]:
        """The tokens that end a reply, from the model's generation settings and the tokenizer."""
        settings = getattr(self.model, "generation_config", None)
        named = getattr(settings, "eos_token_id", None)
        ids = named if isinstance(named, list) else [named]
        return sorted({int(i) for i in (*ids, self.tokenizer.eos_token_id) if i is not None})

    def load(self, name: str) -> Any:
        """A model by its folder or name, on the device and with the type of this student."""
        import torch

        from dataenvgym.students.trainers.compute import resolve_device
        from dataenvgym.students.trainers.student import load_base_model

        device = resolve_device(self._device)
        return load_base_model(name, device=device, dtype=getattr(torch, self.dtype))

    def row_adapters(self, folders: Sequence[Path | None]) -> RowAdapters | None:
        """The adapters in these folders for common batches; None if one of them is not plain.

        None for a large model on CPU, too, which is faster with one merged adapter at a time.

        Raises:
            AdapterError: see `AdaptedStudent.load`.
        """
        from dataenvgym.students.trainers.adapters import Adapter, plain_layers
        from dataenvgym.students.trainers.compute import is_large
        from dataenvgym.students.trainers.row_adapters import RowAdapters

        kinds = {None if folder is None else require_kind(folder) for folder in folders}
        if is_large(self.model) or "student" in kinds:
            return None
        adapters = [
            Adapter.read(folder) if folder is not None and kind_of(folder) == "adapter" else None
            for folder in folders
        ]
        head = self.model.get_output_embeddings()
        for adapter in filter(None, adapters):
            layers = plain_layers(self.model, adapter)
            if layers is None or any(self.model.get_submodule(name) is head for name in layers):
                return None
        return RowAdapters(self.model, adapters)


class AdaptedStudent:
    """A base student with its adapter.

    An adapter is attached to a copy that shares the base model's weights. In float32 it is then
    merged into copies of the adapted weights, which makes the student as fast as the base. In lower
    precisions merging would lose parts of the adapter, so it stays separate.

    Args:
        base: several students may share one.
        apart: keep the adapter separate in float32, too: no weight is copied.

    Attributes:
        folder: from which the adapter was loaded; None for the untouched student.
    """

    def __init__(self, base: BaseStudent, *, apart: bool = False) -> None:
        self.base = base
        self.folder: Path | None = None
        self._apart = apart or base.dtype != "float32"
        self._adapted: Any = None
        self._adapter: Adapter | None = None
        self._lock = base.lock

    @property
    def model(self) -> Any:
        """The model with the adapter, if there is one."""
        with self._lock:
            return self.base.model if self._adapted is None else self._adapted

    def load(self, folder: Path) -> None:
        """Load the checkpoint in `folder`: an adapter, a whole student, or none.

        Raises:
            AdapterError: if there is no checkpoint, or it is broken or fits another student; the
                student is then unchanged.
        """
        from dataenvgym.students.trainers.compute import is_large
        from dataenvgym.students.trainers.large import release_memory

        kind = require_kind(folder)
        if kind == "nothing":
            self.reset()
            return
        adapter, model = self._adapted_by(folder) if kind == "adapter" else self._whole(folder)
        with self._lock:
            self._adapter, self._adapted, self.folder = adapter, model, Path(folder)
            if is_large(self.base.model):
                release_memory()

    def save(self, folder: Path) -> None:
        """Write the adapter to `folder`, or a note that there is none; completely or not at all."""
        if self.folder is None:
            save_nothing(folder, self.base.name)
        elif self._adapter is None:
            copy_checkpoint(self.folder, folder)
        else:
            with publishing(folder) as new:
                self._adapter.write(new)

    def reset(self) -> None:
        """Remove the adapter."""
        with self._lock:
            self._adapted, self._adapter, self.folder = None, None, None

    def _adapted_by(self, folder: Path) -> tuple[Adapter, Any]:
        from dataenvgym.students.trainers.adapters import Adapter, merge, put_on
        from dataenvgym.students.trainers.compute import workers

        adapter = Adapter.read(folder)
        make = put_on if self._apart else merge
        with self._lock:
            try:
                with workers(1, self.base.model.device):
                    return adapter, make(self.base.model, adapter)
            except AdapterError as error:
                made_for = adapter.config.get("base_model_name_or_path")
                raise AdapterError(
                    f"{folder} (base_model_name_or_path: {made_for!r}): {error}"
                ) from error

    def _whole(self, folder: Path) -> tuple[None, Any]:
        from safetensors import SafetensorError

        with self._lock:
            try:
                model = self.base.load(str(folder))
            except (ConfigurationError, SafetensorError, RuntimeError) as error:
                raise AdapterError(f"the student in {folder} is broken: {error}") from error
            if model.config.vocab_size != self.base.model.config.vocab_size:
                raise AdapterError(
                    f"{folder} is a student with {model.config.vocab_size} tokens, expected "
                    f"{self.base.model.config.vocab_size}: it was made from another one"
                )
            return None, model
