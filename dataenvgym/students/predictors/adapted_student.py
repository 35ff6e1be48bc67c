"""A student in this process: tokenizer, base model, adapter, and how it answers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.errors import AdapterError, ConfigurationError
from dataenvgym.events import counting
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import COMPLETION, ToolFormat
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

# Conversations from which on a large model answers in two batches at least.
_WORTH_TWO = 16


class BaseStudent:
    """The untouched student: model and tokenizer, each loaded once, at first use.

    Args:
        name: folder in Hugging Face format, or a name on the hub.
        device: "cpu", "cuda" or "auto".
        dtype: name of a floating point type of torch.
        tool_format: how tools and calls are written; with all but `COMPLETION`, it must have a chat
            template.
        chat_template_kwargs: see `load_tokenizer`.
        batch_size: largest number of conversations answered at the same time.
        threads: CPU cores to compute on, one batch on each.

    Attributes:
        lock: held while weights are loaded or an adapter is attached.
    """

    def __init__(
        self,
        name: str,
        *,
        device: str,
        dtype: str,
        tool_format: ToolFormat,
        chat_template_kwargs: Mapping[str, Any],
        batch_size: int,
        threads: int,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.lock = threading.RLock()
        self._device = device
        self.tool_format = tool_format
        self.batch_size = batch_size
        self.threads = threads
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
            if self.tool_format is not COMPLETION:
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

    def refusals(self, conversations: Sequence[Conversation]) -> list[Failure | None]:
        """The failures of conversations that the student cannot answer; nothing is computed."""
        return [p if isinstance(p, Failure) else None for p in self._prompts(conversations)]

    def _prompts(self, conversations: Sequence[Conversation]) -> list[list[int] | Failure]:
        from dataenvgym.students.predictors.generation import context_length, encode_prompts

        base, context = self.base, context_length(self.model)
        return encode_prompts(base.tokenizer, conversations, base.tool_format, context=context)

    def replies(
        self,
        conversations: Sequence[Conversation],
        sampling: SamplingParameters,
        adapters: RowAdapters | None = None,
        of_rows: Sequence[int] = (),
    ) -> list[Reply | Failure]:
        """One reply or failure of the student for each conversation, in their order.

        Args:
            adapters: answer in place of the student's own.
            of_rows: the number of each conversation's adapter.

        Raises:
            ConfigurationError: if `sampling` has a `json_schema`.
        """
        if sampling.json_schema is not None:
            raise ConfigurationError(
                "json_schema is set, and the student in this process cannot be held to a schema: "
                "leave it out, or use a predictor with a server"
            )
        from dataenvgym.students.predictors.generation import context_length

        context = context_length(self.model)
        prompts = self._prompts(conversations)
        answered = [prompt for prompt in prompts if not isinstance(prompt, Failure)]
        limits = [
            sampling.max_tokens if context is None else min(sampling.max_tokens, context - n)
            for n in map(len, answered)
        ]
        which = [i for i, p in zip(of_rows, prompts, strict=False) if not isinstance(p, Failure)]
        replies = iter(self._generate(answered, limits, sampling, adapters, which))
        return [p if isinstance(p, Failure) else next(replies) for p in prompts]

    def _generate(
        self,
        prompts: list[list[int]],
        limits: list[int],
        sampling: SamplingParameters,
        adapters: RowAdapters | None,
        of_rows: Sequence[int],
    ) -> list[Reply | Failure]:
        if not prompts:
            return []
        import torch

        from dataenvgym.students.predictors.generation import (
            Generated,
            Nucleus,
            Sampler,
            StopTexts,
            generate,
            greedy,
            uniform_numbers,
        )
        from dataenvgym.students.trainers.compute import is_large, workers

        model, tokenizer = self.model, self.base.tokenizer
        if adapters is not None:
            model = adapters.model
        stops = StopTexts(tokenizer, sampling.stop) if sampling.stop else None
        end_tokens = self.base.end_tokens
        is_greedy = sampling.temperature == 0.0
        numbers = [] if is_greedy else uniform_numbers(prompts, sampling)

        n_tokens: list[int] = []
        began = time.monotonic()

        def answer(batch: list[int]) -> list[Generated]:
            draw: Sampler = greedy
            if not is_greedy:
                uniform = torch.stack([numbers[i] for i in batch]).to(model.device)
                draw = Nucleus(sampling.temperature, sampling.top_p, uniform)
            chosen, limit = [prompts[i] for i in batch], [limits[i] for i in batch]
            replies = generate(
                model,
                chosen,
                limit,
                draw,
                end_tokens=end_tokens,
                stops=stops,
                adapters=adapters,
                of_rows=[of_rows[i] for i in batch] if of_rows else (),
            )
            n_tokens.append(sum(len(reply.tokens) for reply in replies))
            pace = sum(n_tokens) / (time.monotonic() - began)
            counter.add(len(batch), note=f"{pace:.0f} tokens/s")
            return replies

        first: dict[tuple[int, ...], int] = {}
        if is_large(model):  # samples of one prompt share a batch, which computes it once
            first = {tuple(prompts[i]): i for i in reversed(range(len(prompts)))}
        order = sorted(
            range(len(prompts)),
            key=lambda i: (
                of_rows[i] if of_rows else 0,
                len(prompts[i]),
                first.get(tuple(prompts[i]), i),
            ),
        )
        size = self.base.batch_size
        if is_large(model) and len(order) >= _WORTH_TWO:
            # Two cores are busy with every batch. The number of batches must not depend on
            # `threads`: two almost equally likely tokens may change places with a batch's size.
            size = math.ceil(len(order) / (2 * math.ceil(len(order) / (2 * size))))
        batches = [order[i : i + size] for i in range(0, len(order), size)]
        with (
            workers(self.base.threads, model.device) as run,
            counting("replies", len(order)) as counter,
        ):
            generated = [reply for replies in run(answer, batches) for reply in replies]
        tokens = [reply.tokens for reply in generated]
        texts = tokenizer.batch_decode(tokens, skip_special_tokens=True)
        replies: dict[int, Reply | Failure] = {}
        for i, text, reply in zip(order, texts, generated, strict=True):
            if reply.diverged:
                replies[i] = Failure(reason="the student's logits are not numbers: it has diverged")
                continue
            kept = sampling.until_stop(text)
            has_ended = reply.ended or len(kept) < len(text)
            replies[i] = Reply(
                text=kept,
                finish_reason="stop" if has_ended else "length",
                prompt_tokens=len(prompts[i]),
                completion_tokens=len(reply.tokens),
            )
        return [replies[i] for i in range(len(prompts))]

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
