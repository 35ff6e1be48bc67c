"""A faster way through the small layers of a model that carries a LoRA adapter.

PEFT computes `x W' + s (x A') B'`: three products and two sums over all tokens, and more on the
way back. Where a layer is small, what costs is the number of operations, and `x (W + s B A)'` is
the same with fewer of them. Where it is large, PEFT's way is cheaper, and stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from peft.tuners.lora import Linear

# The most weights of a small layer.
_SMALL = 2**17


def fold_small_layers(model: Any) -> None:
    """Let the PEFT model's small LoRA layers compute the faster way.

    Layers with dropout, with a variant of LoRA, or in half precision compute as before.
    """
    layers: list[Any] = [layer for layer in model.modules() if type(layer) is Linear]
    for layer in filter(_is_plain, layers):
        layer.forward = _folded(layer)


def _is_plain(layer: Any) -> bool:
    (name,) = layer.active_adapters
    weight = layer.base_layer.weight
    return (
        weight.numel() <= _SMALL
        and weight.dtype == torch.float32
        and isinstance(layer.lora_dropout[name], torch.nn.Identity)
        and not layer.lora_variant
        and not layer.lora_bias[name]
    )


def _folded(layer: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    (name,) = layer.active_adapters
    weight, bias = layer.base_layer.weight, layer.base_layer.bias
    a, b, scale = layer.lora_A[name].weight, layer.lora_B[name].weight, layer.scaling[name]

    def forward(x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, torch.addmm(weight, b, a, alpha=scale), bias)

    return forward
