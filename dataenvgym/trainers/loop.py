"""The optimisation: AdamW with a learning-rate schedule, as transformers' trainer does it.

Every batch is computed in parts, one for each core, of examples of like length; their gradients
are added up in a fixed order. So the same seed and the same number of threads give the same
weights, bit for bit, on CPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch
from transformers import get_scheduler

from dataenvgym.errors import TrainingError
from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.trainers.batches import Update, updates
from dataenvgym.trainers.compute import Run
from dataenvgym.trainers.objectives import Objective
from dataenvgym.trainers.support import extra_number


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


def optimise(
    model: Any, objective: Objective, config: TrainingConfig, *, parts: int, run: Run
) -> Iterator[Step]:
    """Train the model's trainable weights, in place; yields after each step.

    Args:
        parts: into how many parts a batch is divided at most.
        run: computes the parts.

    Raises:
        TrainingError: if a loss or gradient is not finite, naming the step.
    """
    weights = [p for p in model.parameters() if p.requires_grad]
    steps = updates(len(objective), config)
    optimizer = torch.optim.AdamW(
        weights,
        lr=config.learning_rate,
        betas=(extra_number(config, "adam_beta1", 0.9), extra_number(config, "adam_beta2", 0.999)),
        eps=extra_number(config, "adam_epsilon", 1e-8),
        weight_decay=config.weight_decay,
        fused=True,
    )
    schedule = get_scheduler(
        config.lr_scheduler_type,
        optimizer,
        num_warmup_steps=warmup_steps(config, len(steps)),
        num_training_steps=len(steps),
    )
    for number, update in enumerate(steps, start=1):
        loss, gradients = _gradients(model, objective, update, weights, config, parts, run)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        limit = config.max_grad_norm or math.inf
        norm = float(torch.nn.utils.clip_grad_norm_(weights, limit))
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise TrainingError(
                f"step {number} of {len(steps)}: the loss is {loss} and the gradient's norm "
                f"{norm}, expected finite numbers; a lower learning_rate (now "
                f"{config.learning_rate}) often helps"
            )
        rate = schedule.get_last_lr()[0]
        optimizer.step()
        schedule.step()
        yield Step(number, update.epoch, loss, norm, rate)


def warmup_steps(config: TrainingConfig, total: int) -> int:
    """The steps over which the learning rate rises; below 1, `warmup_steps` is a share of all."""
    warmup = config.warmup_steps or extra_number(config, "warmup_ratio", 0.0)
    return int(warmup) if warmup >= 1 else math.ceil(total * warmup)


def _gradients(
    model: Any,
    objective: Objective,
    update: Update,
    weights: Sequence[torch.Tensor],
    config: TrainingConfig,
    parts: int,
    run: Run,
) -> tuple[float, list[torch.Tensor]]:
    """The loss of an update and its gradients."""
    total_loss, total = 0.0, None
    for batch, scale in zip(update.batches, objective.scales(update.batches), strict=True):
        with _precision(config, model):
            context = objective.context(model, batch, run)

        def compute(
            part: Sequence[int], scale: float = scale, context: torch.Tensor | None = context
        ) -> tuple[float, list[torch.Tensor]]:
            with _precision(config, model):
                loss = objective.loss(model, part, context) * scale
            return float(loss.detach()), list(
                torch.autograd.grad(loss, weights, materialize_grads=True)
            )

        for loss, gradients in run(compute, _divide(batch, objective, parts)):
            total_loss += loss
            if total is None:
                total = gradients
            else:
                torch._foreach_add_(total, gradients)
    assert total is not None
    return total_loss, total


def _divide(batch: Sequence[int], objective: Objective, parts: int) -> list[list[int]]:
    """The batch in parts of like length, so that little is padding; the longest come first."""
    ordered = sorted(batch, key=objective.size, reverse=True)
    size = math.ceil(len(ordered) / parts)
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def _precision(config: TrainingConfig, model: Any) -> AbstractContextManager[Any]:
    if config.bf16:
        return torch.autocast(model.device.type, dtype=torch.bfloat16)
    return nullcontext()
