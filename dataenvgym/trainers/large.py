"""Faster computations for large models, equal to the plain ones up to rounding.

They leave the model's own code in place: the output layer computes only the logits that have a
label, and a LoRA layer is one function with a backward pass of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakSet

import torch
import torch.nn.functional as F

_KEPT: ContextVar[torch.Tensor | None] = ContextVar("kept", default=None)
_HOOKED: WeakSet[Any] = WeakSet()
_HOOKING = threading.Lock()


@contextmanager
def logits_only_at(model: Any, kept: torch.Tensor) -> Iterator[None]:
    """The model computes logits (positions, vocabulary) of these positions, in this thread.

    Only the input of the output layer is reduced, so whatever the model does with the logits then
    (a soft cap, a scale) stays. A model without a plain output layer computes all logits.

    Args:
        kept: a mask (rows, length).
    """
    head = model.get_output_embeddings()
    with _HOOKING:
        if head is not None and head not in _HOOKED:
            head.register_forward_pre_hook(_reduce)
            _HOOKED.add(head)
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def _reduce(head: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    kept = _KEPT.get()
    if kept is None or len(inputs) != 1 or inputs[0].shape[:2] != kept.shape:
        return None
    return (inputs[0][kept],)


def label_logs(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The log-probabilities (labels,) of labels, from logits (labels, vocabulary).

    Unlike `log_softmax`, it writes the gradient into the memory of the logits, which for a large
    vocabulary are the largest tensors.
    """
    apply: Any = _LabelLogs.apply
    result: torch.Tensor = apply(logits, labels)
    return result


class _LabelLogs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        total = logits.logsumexp(-1)
        ctx.save_for_backward(logits, labels, total)
        return logits.gather(1, labels.unsqueeze(1)).squeeze(1) - total

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        logits, labels, total = ctx.saved_tensors
        (gradient,) = gradients
        result = logits.detach().sub_(total.unsqueeze(1)).exp_().mul_(-gradient.unsqueeze(1))
        result.scatter_add_(1, labels.unsqueeze(1), gradient.unsqueeze(1))
        return result, None


def lora_linear(layer: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """The forward function of a plain LoRA layer of PEFT, as one operation."""
    (name,) = layer.active_adapters
    weight, bias = layer.base_layer.weight, layer.base_layer.bias
    a, b, scale = layer.lora_A[name].weight, layer.lora_B[name].weight, layer.scaling[name]

    def forward(x: torch.Tensor) -> torch.Tensor:
        apply: Any = _LoraLinear.apply
        y: torch.Tensor = apply(x, weight, bias, a, b, scale)
        return y

    return forward


class _LoraLinear(torch.autograd.Function):
    """x W' + scale (x A') B', with W frozen."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        a: torch.Tensor,
        b: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:
        a, b = a.to(weight.dtype), b.to(weight.dtype)
        flat = x.to(weight.dtype).flatten(0, -2)
        with torch.autocast(x.device.type, enabled=False):  # `addmm_` would not take part in it
            low = flat @ a.t()
            y = F.linear(flat, weight, bias).addmm_(low, b.t(), alpha=scale)
        ctx.save_for_backward(flat, low, weight, a, b)
        ctx.scale, ctx.shape, ctx.dtype = scale, x.shape, x.dtype
        result: torch.Tensor = y.view(*x.shape[:-1], -1)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        flat, low, weight, a, b = ctx.saved_tensors
        gradient = gradients[0].flatten(0, -2)
        of_low = (gradient @ b).mul_(ctx.scale)
        of_x = None
        if ctx.needs_input_grad[0]:
            of_x = (gradient @ weight).addmm_(of_low, a).view(ctx.shape).to(ctx.dtype)
        of_b = (gradient.t() @ low).mul_(ctx.scale)
        return of_x, None, None, (of_low.t() @ flat).float(), of_b.float(), None
