"""Faster computations for large models, equal to the plain ones up to rounding.

They leave the model's own code in place: the output layer computes only the logits that have a
label, a LoRA layer is one function with a backward pass of its own, and products with frozen
weights are those of oneDNN (see `frozen_linear`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

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


def frozen_linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """`F.linear` on CPU, without a gradient; `weight` may be `packed`.

    In float32, torch's own is MKL's product, which takes a quarter longer than oneDNN's on AMD's
    processors, and about twice as long as a packed one for few rows.
    """
    if weight.is_mkldnn or (_HAS_ONEDNN and x.dtype == weight.dtype == torch.float32):
        y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return y
    return F.linear(x, weight, bias)


def packed(weight: torch.Tensor) -> torch.Tensor:
    """A copy of the weight in the order in which oneDNN reads it, for `frozen_linear`."""
    is_supported = weight.dtype == torch.float32 or (
        weight.dtype == torch.bfloat16 and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )
    if _HAS_ONEDNN and is_supported:
        weight = torch.ops.mkldnn._reorder_linear_weight(weight, _ROWS)
    return weight


# These operations are those of torch's own compiler.
_HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(  # type: ignore[no-untyped-call]
    torch.ops.mkldnn, "_linear_pointwise"
)
MOST_PACKED = 4_000_000_000  # bytes of a model's weights that generation copies to pack them
PACKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""The packed weights of models that have generated."""
_M_ARENA_MAX = -8  # of glibc's malloc.h
_ROWS = 32  # with which a packed weight is mostly multiplied; any number works


def release_memory() -> None:
    """Drop all packed weights, and return freed memory to the system.

    Weights are packed again when they are next needed, within a second. Without the second part,
    the C library keeps what one thread's computations have freed for that thread.
    """
    PACKS.clear()
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:  # glibc
        trim(0)


def share_freed_memory() -> None:
    """Let all threads allocate from one pool, so what one has freed serves the others (glibc).

    Two threads that trained 135 million parameters took 2.9 GB in place of 3.2.
    """
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_M_ARENA_MAX, 1)


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
            y = frozen_linear(flat, weight, bias).addmm_(low, b.t(), alpha=scale)
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
            of_x = frozen_linear(gradient, weight.t()).addmm_(of_low, a)
            of_x = of_x.view(ctx.shape).to(ctx.dtype)
        of_b = (gradient.t() @ low).mul_(ctx.scale)
        return of_x, None, None, (of_low.t() @ flat).float(), of_b.float(), None
