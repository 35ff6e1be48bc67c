"""A faster computation of the small layers of a model with a LoRA adapter.

PEFT computes `x W' + s (x A') B'`: three products and two sums over all tokens, and more in the
backward pass. In a small layer, the number of operations dominates, and `x (W + s B A)'` gives the
same with fewer of them. In a large layer PEFT's computation is cheaper, and is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from peft.tuners.lora import Linear

# The largest number of weights of a small layer.
_SMALL = 2**17


def fold_small_layers(model: Any) -> None:
    """Let the PEFT model's small LoRA layers use the faster computation.

    Layers with dropout, with a variant of LoRA, or in half precision are unchanged.
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
