"""The optimization: AdamW with a learning-rate schedule, like transformers' trainer.

A large batch is computed in parts with examples of similar length, for a small model one for each
core. Their gradients are added in a fixed order. So the same seed and the same number of threads
give the same weights, bit for bit, on CPU. For a large model, the parts do not depend on the number
of threads, nor do the weights.

The steps are in the order that transformers' trainer, and so LLaMA-Factory, gives for the same
seed: a new permutation for every epoch, cut into batches, the last one possibly smaller. With a
curriculum, a batch never has records of two of its sections.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

import torch
from transformers import get_scheduler

from dataenvgym.errors import DivergedError
from dataenvgym.events import Count, counting
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.llama_factory.curriculum import Curriculum, Section
from dataenvgym.students.trainers.compute import Run, is_large, precision
from dataenvgym.students.trainers.examples import IGNORED
from dataenvgym.students.trainers.objectives import (
    CrossEntropy,
    Objective,
    by_length,
    parts_of_equal_size,
)
from dataenvgym.students.trainers.support import Extra

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
    for epoch in range(math.ceil(total / per_epoch)):
        generator = torch.Generator().manual_seed(config.seed + epoch)
        order: list[int] = torch.randperm(n_examples, generator=generator).tolist()
        groups = chunks(list(chunks(order, size)), accumulated)
        steps += (Update(epoch + i / per_epoch, group) for i, group in enumerate(groups, start=1))
    return steps[:total]


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


# Tokens times the model's weights above which a part of a batch deserves a core of its own. Below,
# most of the time is spent on starting operations, and two parts start twice as many.
_WORTH_A_PART = 100_000_000


@dataclass(frozen=True)
class Step:
    """One line of the training log; the loss is the one before the step."""

    step: int
    epoch: float
    loss: float
    grad_norm: float
    learning_rate: float

    def as_json(self) -> dict[str, float]:
        return {
            name: value if name in ("step", "learning_rate") else round(value, 6)
            for name, value in asdict(self).items()
        }


def optimize(
    model: Any, objective: Objective, config: TrainingConfig, *, parts: int, run: Run
) -> Iterator[Step]:
    """Train the model's trainable weights, in place; yields after each step.

    Args:
        parts: largest number of parts of a batch that are computed at the same time.
        run: computes the parts.

    Raises:
        DivergedError: if a loss, a gradient or a weight is not finite, naming the step.
    """
    computed = _Gradients(model, objective, config, parts, run)
    optimizer = Optimizer(computed.weights, objective, config)
    with counting("training steps", len(optimizer.updates)) as counter:
        gates = None
        if config.curriculum is not None:
            gates = Gates(config.curriculum, model, objective, optimizer.updates, run)
        for number, update in enumerate(optimizer.updates):
            if gates is not None and update.section[0] in gates.passed:
                optimizer.skip()
                continue
            yield (step := optimizer.step(*computed.of(update), counter))
            if gates is not None:
                gates.see(number, update, step.loss)


class Optimizer:
    """The state of one training between its steps: AdamW's, and the learning rate's schedule.

    Attributes:
        updates: the steps, from the first to the last.
    """

    def __init__(
        self, weights: list[torch.Tensor], objective: Objective, config: TrainingConfig
    ) -> None:
        self.updates = updates(len(objective), config)
        self._weights = weights
        self._objective = objective
        self._config = config
        extra = Extra.of(config)
        self._adamw = torch.optim.AdamW(
            weights,
            lr=config.learning_rate,
            betas=(extra.adam_beta1, extra.adam_beta2),
            eps=extra.adam_epsilon,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self._schedule = get_scheduler(
            config.lr_scheduler_type,
            self._adamw,
            num_warmup_steps=warmup_steps(config, len(self.updates)),
            num_training_steps=len(self.updates),
        )
        self._n_done = self._n_tokens = 0
        self._began = time.monotonic()

    def skip(self) -> None:
        """Leave out the next step; the learning rate follows its schedule."""
        self._n_done += 1
        self._schedule.step()

    def step(self, loss: float, gradients: list[torch.Tensor], counter: Count) -> Step:
        """Take the next step, with the loss and gradients of its update.

        Raises:
            DivergedError: if they are not finite.
        """
        update, number = self.updates[self._n_done], self._n_done + 1
        for weight, gradient in zip(self._weights, gradients, strict=True):
            weight.grad = gradient
        limit = self._config.max_grad_norm or math.inf
        norm = float(torch.nn.utils.clip_grad_norm_(self._weights, limit))
        rate = self._schedule.get_last_lr()[0]
        self._adamw.step()
        size = float(torch.nn.utils.get_total_norm(self._weights))
        if not all(map(math.isfinite, (loss, norm, size))):
            raise DivergedError(
                f"step {number} of {len(self.updates)}: the loss is {loss}, the gradient's norm "
                f"{norm}, and that of the new weights {size}, expected finite numbers; a lower "
                f"learning_rate (now {self._config.learning_rate}) often helps"
            )
        self._schedule.step()
        self._n_done = number
        self._n_tokens += sum(self._objective.size(i) for batch in update.batches for i in batch)
        pace = self._n_tokens / (time.monotonic() - self._began)
        counter.add(note=f"loss {loss:.3f}, {pace:.0f} tokens/s")
        return Step(number, update.epoch, loss, norm, rate)


def warmup_steps(config: TrainingConfig, total: int) -> int:
    """The steps over which the learning rate rises; below 1, `warmup_steps` is a share of all."""
    warmup = config.warmup_steps or Extra.of(config).warmup_ratio
    return int(warmup) if warmup >= 1 else math.ceil(total * warmup)


class _Gradients:
    """Computes losses and gradients, with batches in parts."""

    def __init__(
        self, model: Any, objective: Objective, config: TrainingConfig, parts: int, run: Run
    ) -> None:
        self.weights = [p for p in model.parameters() if p.requires_grad]
        self._model = model
        self._objective = objective
        self._config = config
        self._parts = parts
        self._run = run
        self._is_large = is_large(model)
        self._n_weights = sum(p.numel() for p in model.parameters())

    def of(self, update: Update) -> tuple[float, list[torch.Tensor]]:
        """The loss of an update, and the gradient of each of `weights`."""
        total_loss = 0.0
        total: list[torch.Tensor] = []
        scales = self._objective.scales(update.batches)
        for batch, scale in zip(update.batches, scales, strict=True):
            for loss, gradients in self._of_batch(batch, scale):
                total_loss += loss
                if total:
                    torch._foreach_add_(total, gradients)
                else:
                    total = gradients
        return total_loss, total

    def _of_batch(self, batch: list[int], scale: float) -> list[tuple[float, list[torch.Tensor]]]:
        """The loss and gradients of each part of a batch."""
        with self._precision():
            context = self._objective.context(self._model, batch, self._run)

        def compute(part: list[int]) -> tuple[float, list[torch.Tensor]]:
            with self._precision():
                loss = self._objective.loss(self._model, part, context) * scale
            gradients = torch.autograd.grad(loss, self.weights, materialize_grads=True)
            return float(loss.detach()), list(gradients)

        parts = self._divide(batch)
        # with one part at a time, random draws come in the same order in every training
        return self._run(compute, parts) if self._parts > 1 else [compute(part) for part in parts]

    def _divide(self, batch: list[int]) -> list[list[int]]:
        """Split the batch into parts of similar length, to save padding; the longest come first."""
        ordered = sorted(batch, key=self._objective.size, reverse=True)
        if self._is_large:
            return parts_of_equal_size(ordered, self._objective.size)
        work = self._n_weights * sum(map(self._objective.size, batch))
        parts = max(1, min(self._parts, work // _WORTH_A_PART))
        size = math.ceil(len(ordered) / parts)
        return [ordered[i : i + size] for i in range(0, len(ordered), size)]

    def _precision(self) -> AbstractContextManager[Any]:
        return precision(self._model.device, bf16=self._config.bf16)


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
        right, total = map(sum, zip(*counts, strict=True))
        return float(right / max(total, 1))
