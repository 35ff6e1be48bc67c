"""A model in which each row of a batch has an adapter of its own.

`with_row_adapters` makes such a model of a base; within `row_adapters` its linear layers add the
LoRA pairs of the rows' adapters. Rows are in blocks: adapters of one layout with equally many rows,
whose products are one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from dataenvgym.students.trainers.adapters import Adapter, building, plain_layers
from dataenvgym.students.trainers.large import frozen_linear
from dataenvgym.students.trainers.student import twin


class Pair(NamedTuple):
    """A layer's LoRA pair: `scale` times B (out, rank) times A (rank, in), with dropout."""

    rank: int
    n_in: int
    n_out: int
    scale: float
    dropout: float = 0.0


Layout = tuple[tuple[str, Pair], ...]
"""The pairs of an adapter by layer; its weights are A and B of the first, then of the next ..."""


@dataclass
class Block:
    """Adapters of one layout, each with `n_rows` rows, one after another.

    Attributes:
        weights: (adapters, weights).
        gradients: of `weights`, filled by a backward pass; empty without one.
        dropout: makes the factors (rows, length, in) of a layer's input.
    """

    layout: Layout
    n_rows: int
    weights: torch.Tensor
    gradients: torch.Tensor
    dropout: Callable[[Pair], torch.Tensor] | None = None

    def __post_init__(self) -> None:
        self._places: dict[str, tuple[Pair, int]] = {}
        begin = 0
        for name, pair in self.layout:
            self._places[name] = pair, begin
            begin += pair.rank * (pair.n_in + pair.n_out)

    def pair(self, name: str) -> Pair | None:
        """The pair of a layer, if its adapters have one."""
        return self._places[name][0] if name in self._places else None

    def matrices(self, of: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
        """A (adapters, rank, in) and B (adapters, out, rank) of a layer, in `of`."""
        (rank, n_in, n_out, *_), begin = self._places[name]
        middle, end = begin + rank * n_in, begin + rank * (n_in + n_out)
        a, b = of[:, begin:middle], of[:, middle:end]
        return a.view(-1, rank, n_in), b.view(-1, n_out, rank)


_BLOCKS: ContextVar[tuple[Sequence[Block], torch.Tensor] | None] = ContextVar(
    "blocks", default=None
)


@contextmanager
def row_adapters(blocks: Sequence[Block], device: torch.device) -> Iterator[torch.Tensor]:
    """Give the rows of coming batches these adapters, in this thread.

    Yields:
        A tensor without a meaning: a backward pass to it fills the blocks' gradients.
    """
    anchor = torch.zeros((), device=device, requires_grad=True)
    token = _BLOCKS.set((blocks, anchor))
    try:
        yield anchor
    finally:
        _BLOCKS.reset(token)


def with_row_adapters(base: Any) -> Any:
    """A twin of the base model for `row_adapters`; outside of it, it computes like the base."""
    model = twin(base)
    head = model.get_output_embeddings()
    with building():
        for name, layer in list(model.named_modules()):
            if type(layer) is nn.Linear and layer is not head:
                parent, _, child = name.rpartition(".")
                setattr(model.get_submodule(parent), child, _RowsLinear(layer, name))
    return model


class RowAdapters:
    """Adapters of one base that answer together.

    Attributes:
        model: see `with_row_adapters`.
    """

    def __init__(self, base: Any, adapters: Sequence[Adapter | None]) -> None:
        self.model = with_row_adapters(base)
        self._layouts: list[Layout] = []
        self._weights: list[torch.Tensor] = []
        weight = next(base.parameters())
        for adapter in adapters:
            layers = {} if adapter is None else plain_layers(base, adapter)
            assert layers is not None, "only plain adapters share a batch"
            scale = 1.0 if adapter is None else adapter.scale
            pairs = [
                (name, Pair(len(a), a.shape[1], len(b), scale)) for name, (a, b) in layers.items()
            ]
            flat = [part.flatten().to(weight) for pair in layers.values() for part in pair]
            self._layouts.append(tuple(pairs))
            self._weights.append(torch.cat(flat) if flat else weight.new_empty(0))

    def blocks(self, of_rows: Sequence[int]) -> list[Block]:
        """The blocks of rows by the numbers of their adapters; each adapter's rows are together."""
        counts = [(number, len(list(rows))) for number, rows in groupby(of_rows)]
        same = groupby(counts, key=lambda one: (self._layouts[one[0]], one[1]))
        return [
            Block(
                layout, n_rows, weights := torch.stack([self._weights[i] for i, _ in own]), weights
            )
            for (layout, n_rows), own in same
        ]


class _RowsLinear(nn.Module):
    def __init__(self, layer: nn.Linear, name: str) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self._name = name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        blocks, anchor = _BLOCKS.get() or ((), None)
        apply: Any = _RowsLora.apply
        if anchor is None or all(block.pair(self._name) is None for block in blocks):
            return F.linear(x, self.weight, self.bias)
        y: torch.Tensor = apply(x, self.weight, self.bias, anchor, blocks, self._name)
        return y


class _RowsLora(torch.autograd.Function):
    """x W' + scale (x A') B' with the A and B of each row's adapter, and W frozen."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        anchor: torch.Tensor,
        blocks: Sequence[Block],
        name: str,
    ) -> torch.Tensor:
        y = _frozen(x, weight, bias)
        ctx.weight, ctx.name, ctx.parts = weight, name, []
        end = 0
        for block in blocks:
            begin, end = end, end + block.n_rows * len(block.weights)
            if (pair := block.pair(name)) is None:
                continue
            factors = block.dropout(pair) if pair.dropout and block.dropout else None
            rows = x[begin:end] if factors is None else x[begin:end] * factors
            grouped = rows.reshape(len(block.weights), -1, pair.n_in)
            a, b = block.matrices(block.weights, name)
            low = torch.bmm(grouped, a.transpose(1, 2)).mul_(pair.scale)
            of_block = y[begin:end].view(len(block.weights), -1, pair.n_out)
            of_block.baddbmm_(low, b.transpose(1, 2))
            ctx.parts.append((begin, end, block, factors, grouped, low))
        return y

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        of_y = gradients[0].contiguous()
        of_x = _frozen(of_y, ctx.weight.t(), None) if ctx.needs_input_grad[0] else None
        for begin, end, block, factors, grouped, low in ctx.parts:
            pair = block.pair(ctx.name)
            a, b = block.matrices(block.weights, ctx.name)
            of_block = of_y[begin:end].view(len(block.weights), -1, pair.n_out)
            of_low = torch.bmm(of_block, b).mul_(pair.scale)
            of_a, of_b = block.matrices(block.gradients, ctx.name)
            of_a.copy_(torch.bmm(of_low.transpose(1, 2), grouped))
            of_b.copy_(torch.bmm(of_block.transpose(1, 2), low))
            if of_x is None:
                continue
            if factors is None:
                of_x[begin:end].view(grouped.shape).baddbmm_(of_low, a)
            else:
                of_x[begin:end] += torch.bmm(of_low, a).view(factors.shape) * factors
        return of_x, None, None, None, None, None


def _frozen(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if x.device.type != "cpu":
        return F.linear(x, weight, bias)
    return frozen_linear(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], -1)
