"""Merges an adapter into a model's weights, after which it costs no extra computation.

PEFT can do that for every kind of adapter. For the plain LoRA of our trainers, it is one product
and one sum per layer, which is done here directly: loading then takes a fraction of the time, and
the weights are the same, bit for bit.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from dataenvgym.errors import AdapterError
from dataenvgym.trainers.adapters import Adapter, put_on
from dataenvgym.trainers.student import twin

# The configuration of a plain LoRA: these may be anything, ...
_ANY = {
    *("r", "lora_alpha", "use_rslora", "target_modules", "lora_dropout", "init_lora_weights"),
    *("task_type", "peft_type", "peft_version", "inference_mode"),
    *("base_model_name_or_path", "revision", "auto_mapping"),
}
# ... these count only if set to something unusual, and all others must be off.
_USUAL: dict[str, Any] = {"bias": "none", "megatron_core": "megatron.core", "qalora_group_size": 16}


def merge(base: Any, adapter: Adapter) -> Any:
    """A twin of the base model with the adapter merged into its weights.

    It takes additional memory for the layers that the adapter changes.

    Raises:
        AdapterError: if the adapter was made for another base, or the sum is not finite.
    """
    layers = _plain_layers(base, adapter)
    if layers is None:
        return _merge_by_peft(base, adapter)
    model = twin(base)
    rank, alpha = adapter.config["r"], adapter.config["lora_alpha"]
    scale = alpha / math.sqrt(rank) if adapter.config.get("use_rslora") else alpha / rank
    for name, (a, b) in layers.items():
        weight = model.get_submodule(name).weight
        delta = (b.to(weight.device) @ a.to(weight.device)) * scale
        # a new tensor: the base model's own must not be changed
        weight.data = weight.data + delta.to(weight.dtype)
        if not bool(torch.isfinite(weight.data).all()):
            raise AdapterError(
                f"the adapter cannot be merged into the student: {name} gets weights that are "
                "infinite or no numbers (NaN)"
            )
    return model


def _plain_layers(
    base: Any, adapter: Adapter
) -> dict[str, tuple[torch.Tensor, torch.Tensor]] | None:
    """Matrices A and B by layer, if the adapter is plain and fits the base."""
    config = adapter.config
    unusual = {key for key, value in config.items() if value and value != _USUAL.get(key)} - _ANY
    targets = config.get("target_modules")
    if unusual or not isinstance(targets, list):
        return None
    rank, weights = config.get("r"), dict(adapter.weights)
    layers = {}
    for name, module in base.named_modules():
        if name.rsplit(".", 1)[-1] not in targets:
            continue
        a = weights.pop(f"base_model.model.{name}.lora_A.weight", None)
        b = weights.pop(f"base_model.model.{name}.lora_B.weight", None)
        if type(module) is not torch.nn.Linear or a is None or b is None:
            return None
        if a.shape != (rank, module.in_features) or b.shape != (module.out_features, rank):
            return None
        layers[name] = (a, b)
    return None if weights else layers


def _merge_by_peft(base: Any, adapter: Adapter) -> Any:
    model = put_on(base, adapter)
    try:
        # "safe" merges into a copy; the base model's own tensors must not be changed
        return model.merge_and_unload(safe_merge=True)
    except ValueError as error:
        raise AdapterError(f"the adapter cannot be merged into the student: {error}") from error
