"""What a student would learn from records: their losses, and their influence on other records.

Each function gets training files (`TrainingConfig`) as a trainer does, and keeps no training.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F

from dataenvgym.students.llama_factory import TrainingConfig, read_dataset
from dataenvgym.students.trainers.compute import is_large, precision
from dataenvgym.students.trainers.examples import (
    padding_token,
    supervised_examples,
    with_all_labels,
)
from dataenvgym.students.trainers.in_process import needed, training
from dataenvgym.students.trainers.objectives import (
    CrossEntropy,
    log_probabilities,
    logs_of_labels,
    of_each,
    padder,
)
from dataenvgym.students.trainers.row_adapters import Block, row_adapters, with_row_adapters
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer
from dataenvgym.students.trainers.support import Extra
from dataenvgym.students.trainers.together import layout_of

_TOGETHER = 32  # records whose gradients are computed, and held, at the same time


def losses(config: TrainingConfig, threads: int, device: str) -> list[float]:
    """The mean cross-entropy of each record's learned tokens, before a training in stage `sft`."""
    with training(config, threads, device) as begun:
        model, objective = begun.model.eval(), cast(CrossEntropy, begun.objective)

        def compute(part: list[int]) -> list[float]:
            with torch.no_grad():
                batch = objective.pad([objective.examples[i] for i in part])
                sums, lengths = log_probabilities(model, batch)
            return cast(list[float], (-sums / lengths.clamp(min=1)).tolist())

        return of_each(objective.examples, model, begun.run, compute)


def influences(
    warmup: TrainingConfig,
    records: TrainingConfig,
    targets: Sequence[TrainingConfig],
    threads: int,
    device: str,
) -> list[float]:
    """For each record, how much a step on it would lower the loss on a group of targets.

    It is the score of LESS (Xia et al. 2024, arXiv 2402.04333): at the end of each epoch of the
    warmup training, the cosine of the record's Adam update with the gradient of each target, the
    mean over a group's targets; summed over epochs with the mean learning rate of each as weight;
    the largest of all groups. LESS projects gradients at random to store less. Here they are
    compared at once and never stored, so they stay whole and the cosines exact.
    """
    with training(warmup, threads, device) as begun:
        model = begun.model
        weights = [p for p in model.parameters() if p.requires_grad]
        pool, *groups = (_objective(one, model.device) for one in (records, *targets))
        gradients = _RecordGradients(model, weights, warmup)
        extra = Extra.of(warmup)
        beta1, beta2, epsilon = extra.adam_beta1, extra.adam_beta2, extra.adam_epsilon
        momentum = torch.zeros_like(_flat(weights))
        square = torch.zeros_like(momentum)
        rates: list[float] = []
        total = np.zeros((len(pool), len(groups)))
        for step in begun.steps:
            own = _flat([cast(torch.Tensor, weight.grad) for weight in weights])
            momentum.lerp_(own, 1 - beta1)
            square.lerp_(own * own, 1 - beta2)
            rates.append(step.learning_rate)
            if not step.epoch.is_integer():
                continue
            was_training = model.training
            model.eval()
            goals = torch.stack([_mean_direction(gradients, group) for group in groups])
            after = step.step + 1
            cosines: list[list[float]] = []
            for part in _parts(pool):
                own = gradients.of(pool, part)
                first = momentum.lerp(own, 1 - beta1) / (1 - beta1**after)
                second = square.lerp(own * own, 1 - beta2) / (1 - beta2**after)
                updates = F.normalize(first / (second.sqrt() + epsilon), dim=1)
                cosines += (updates @ goals.T).tolist()
            total += np.mean(rates) * np.array(cosines)
            rates = []
            model.train(was_training)
    return cast(list[float], total.max(axis=1).tolist())


def _mean_direction(gradients: _RecordGradients, group: CrossEntropy) -> torch.Tensor:
    found = [F.normalize(gradients.of(group, part), dim=1).sum(0) for part in _parts(group)]
    return torch.stack(found).sum(0) / len(group)


def _parts(objective: CrossEntropy) -> list[range]:
    ends = range(0, len(objective), _TOGETHER)
    return [range(begin, min(begin + _TOGETHER, len(objective))) for begin in ends]


class _RecordGradients:
    """The gradient of each record's mean loss; of a plain adapter for many records at once."""

    def __init__(self, model: Any, weights: list[torch.Tensor], config: TrainingConfig) -> None:
        self._model = model
        self._weights = weights
        self._bf16 = config.bf16
        # computed together, the rows of adapters are in single precision
        self._layout = None if is_large(model) or config.bf16 else layout_of(model)
        if self._layout is not None:
            student = needed(config, "model_name_or_path")
            base = load_base_model(student, device=model.device, dtype=model.dtype)
            self._of_rows = with_row_adapters(base)

    def of(self, objective: CrossEntropy, part: Sequence[int]) -> torch.Tensor:
        """The gradients (records, weights), in the order of the weights of the model."""
        scales = torch.tensor([objective.scales([[i]])[0] for i in part])
        if self._layout is None or any(objective.examples[i].before for i in part):
            rows = [self._alone(objective, i) for i in part]
            return torch.stack(rows) * scales.to(self._model.device)[:, None]
        layout, weights = self._layout
        batch = objective.pad([objective.examples[i] for i in part])
        adapters = _flat(weights).expand(len(part), -1)
        block = Block(layout, 1, adapters, torch.zeros(adapters.shape, device=self._model.device))
        with row_adapters([block], self._model.device) as anchor:
            logs = logs_of_labels(self._of_rows, batch)
        torch.autograd.grad(-logs.sum(), anchor, allow_unused=True)
        return block.gradients * scales.to(self._model.device)[:, None]

    def _alone(self, objective: CrossEntropy, i: int) -> torch.Tensor:
        with precision(self._model.device, bf16=self._bf16):
            loss = objective.loss(self._model, [i], None)
        return _flat(torch.autograd.grad(loss, self._weights, materialize_grads=True))


def _objective(config: TrainingConfig, device: torch.device) -> CrossEntropy:
    tokenizer = load_tokenizer(
        needed(config, "model_name_or_path"),
        template=config.template,
        chat_template_kwargs=config.chat_template_kwargs,
    )
    records: Any = list(
        read_dataset(Path(needed(config, "dataset_dir")), needed(config, "dataset"))
    )
    examples = supervised_examples(records, tokenizer, config.cutoff_len)
    if config.extra.get("train_on_prompt"):
        examples = [with_all_labels(example) for example in examples]
    return CrossEntropy(examples, padder(padding_token(tokenizer), device))


def _flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.detach().float().flatten() for tensor in tensors])
