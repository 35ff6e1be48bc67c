"""The order of the examples in a training, and padding.

The order is the same as in transformers' trainer (and so in LLaMA-Factory) for the same seed: a new
permutation for every epoch, cut into batches, the last one possibly smaller.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import torch

from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.trainers.examples import IGNORED, Example

_T = TypeVar("_T")


@dataclass(frozen=True)
class Update:
    """One step of the optimizer: the batches whose gradients are summed for it.

    Attributes:
        epoch: number of epochs done after this step, as a fraction.
        batches: positions of the examples.
    """

    epoch: float
    batches: list[list[int]]


def updates(n_examples: int, config: TrainingConfig) -> list[Update]:
    """Every step of a training on `n_examples` examples."""
    size, accumulated = config.per_device_train_batch_size, config.gradient_accumulation_steps
    per_epoch = math.ceil(math.ceil(n_examples / size) / accumulated)
    total = config.max_steps
    if total < 1:
        total = math.ceil(config.num_train_epochs * per_epoch)
    steps: list[Update] = []
    for epoch in count():
        order = epoch_order(n_examples, config.seed, epoch)
        batches = list(_chunks(order, size))
        for i, group in enumerate(_chunks(batches, accumulated), start=1):
            if len(steps) == total:
                return steps
            steps.append(Update(epoch=epoch + i / per_epoch, batches=group))
    raise AssertionError("unreachable")


def epoch_order(n_examples: int, seed: int, epoch: int) -> list[int]:
    """The examples' positions in the order of that epoch."""
    generator = torch.Generator().manual_seed(seed + epoch)
    order: list[int] = torch.randperm(n_examples, generator=generator).tolist()
    return order


@dataclass(frozen=True)
class Batch:
    """Examples padded on the right to a common length; all tensors are (rows, length)."""

    tokens: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor


def pad(examples: Sequence[Example], padding: int, device: torch.device) -> Batch:
    """The examples as one batch, padded with the token `padding`."""
    length = max(len(example.tokens) for example in examples)
    rows = [(e.tokens, e.labels, length - len(e.tokens)) for e in examples]
    return Batch(
        tokens=torch.tensor([t + [padding] * n for t, _, n in rows], device=device),
        mask=torch.tensor([[1] * len(t) + [0] * n for t, _, n in rows], device=device),
        labels=torch.tensor([labels + [IGNORED] * n for _, labels, n in rows], device=device),
    )


def _chunks(items: list[_T], size: int) -> Iterator[list[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
