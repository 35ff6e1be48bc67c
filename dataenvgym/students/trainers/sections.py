"""The steps of a curriculum, and its gates between sections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import torch

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.curriculum import Curriculum, Section
from dataenvgym.students.trainers.compute import Run
from dataenvgym.students.trainers.examples import IGNORED
from dataenvgym.students.trainers.objectives import (
    CrossEntropy,
    Objective,
    Update,
    by_length,
    chunks,
)


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


class Gates:
    """Says after each step whether the section has ended early."""

    def __init__(
        self,
        curriculum: Curriculum,
        model: Any,
        objective: Objective,
        updates: list[Update],
        run: Run,
    ) -> None:
        self._curriculum = curriculum
        self._model = model
        self._objective = cast(CrossEntropy, objective)
        self._last = {update.section: i for i, update in enumerate(updates)}
        self._losses: list[float] = []
        self._run = run
        self.passed: set[int] = set()

    def see(self, number: int, update: Update, loss: float) -> None:
        """Take note of step `number` (from 0): at the end of an epoch, the gates are compared."""
        self._losses.append(loss)
        if self._last[update.section] != number:
            return
        mean, self._losses = sum(self._losses) / len(self._losses), []
        index, _ = update.section
        section = self._curriculum.sections[index]
        below = section.until_loss is not None and mean <= section.until_loss
        if below or (
            section.until_accuracy is not None and self._accuracy(section) >= section.until_accuracy
        ):
            self.passed.add(index)

    def _accuracy(self, section: Section) -> float:
        """The share of the section's learned tokens that are the student's most likely ones."""
        examples = [
            self._objective.examples[i]
            for name in section.mix
            for i in self._curriculum.groups[name]
        ]
        was_training = self._model.training
        self._model.eval()

        def count(part: Sequence[int]) -> tuple[int, int]:
            batch = self._objective.pad([examples[i] for i in part])
            with torch.no_grad():
                output = self._model(
                    input_ids=batch.tokens, attention_mask=batch.mask, use_cache=False
                )
            labels = batch.labels[:, 1:]
            right = (output.logits[:, :-1].argmax(-1) == labels) & (labels != IGNORED)
            return int(right.sum()), int((labels != IGNORED).sum())

        counts = self._run(count, by_length(examples, self._model)[1])
        self._model.train(was_training)
        return math.fsum(right for right, _ in counts) / max(sum(n for _, n in counts), 1)
