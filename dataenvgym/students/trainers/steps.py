"""The steps of a training, in the order that transformers' trainer gives for the same seed.

So LLaMA-Factory has it, too: a new permutation for every epoch, cut into batches, the last one
possibly smaller. With a curriculum, a batch never has records of two of its sections.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

import torch

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.curriculum import Curriculum, Section

_T = TypeVar("_T")


@dataclass(frozen=True)
class Update:
    """One step of the optimizer: the batches whose gradients are summed for it.

    Attributes:
        epoch: number of epochs done after this step, as a fraction.
        batches: positions of the examples.
        section: the section of a curriculum, and the epoch in it, both from 0.
    """

    epoch: float
    batches: list[list[int]]
    section: tuple[int, int] = (0, 0)


def updates(n_examples: int, config: TrainingConfig) -> list[Update]:
    """Every step of a training on `n_examples` examples."""
    if config.curriculum is not None:
        return section_updates(config.curriculum, config)
    size, accumulated = config.per_device_train_batch_size, config.gradient_accumulation_steps
    per_epoch = math.ceil(math.ceil(n_examples / size) / accumulated)
    total = config.max_steps
    if total < 1:
        total = math.ceil(config.num_train_epochs * per_epoch)
    steps: list[Update] = []
    for epoch in count():
        order = epoch_order(n_examples, config.seed, epoch)
        batches = list(chunks(order, size))
        for i, group in enumerate(chunks(batches, accumulated), start=1):
            if len(steps) == total:
                return steps
            steps.append(Update(epoch=epoch + i / per_epoch, batches=group))
    raise AssertionError("unreachable")


def epoch_order(n_examples: int, seed: int, epoch: int) -> list[int]:
    """The examples' positions in the order of that epoch."""
    generator = torch.Generator().manual_seed(seed + epoch)
    order: list[int] = torch.randperm(n_examples, generator=generator).tolist()
    return order


def section_updates(curriculum: Curriculum, config: TrainingConfig) -> list[Update]:
    """Every step, if no gate is passed early; a batch never has records of two sections.

    The same seed gives the same records in the same order.
    """
    size, accumulated = config.per_device_train_batch_size, config.gradient_accumulation_steps
    n_records = len({i for group in curriculum.groups.values() for i in group})
    found: list[Update] = []
    n_drawn = number = 0
    for section in range(len(curriculum.sections)):
        for epoch in range(curriculum.sections[section].epochs):
            generator = torch.Generator().manual_seed(config.seed + number)
            order = _drawn(curriculum.sections[section], curriculum.groups, generator)
            number += 1
            for batches in chunks(list(chunks(order, size)), accumulated):
                n_drawn += sum(map(len, batches))
                found.append(Update(n_drawn / n_records, batches, (section, epoch)))
    return found


def _drawn(section: Section, groups: Any, generator: torch.Generator) -> list[int]:
    """The positions of an epoch, shuffled; a group that is used up begins again, in new order."""
    drawn: list[int] = []
    for name, wanted in section.numbers(groups).items():
        positions: list[int] = []
        while len(positions) < wanted:
            permuted = torch.randperm(len(groups[name]), generator=generator)
            positions += [groups[name][i] for i in permuted.tolist()]
        drawn += positions[:wanted]
    return [drawn[i] for i in torch.randperm(len(drawn), generator=generator).tolist()]


def chunks(items: list[_T], size: int) -> Iterator[list[_T]]:
    """The items in lists of `size`; the last one may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
