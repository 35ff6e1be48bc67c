"""How records of a training change the loss on gold answers: measured, and estimated by gradients.

The estimate is the first-order one of TracIn (Pruthi et al. 2020), with the gradients scaled as
Adam does (LESS, Xia et al. 2024): the product of a record's gradient with that of the gold answers,
summed over `CHECKPOINTS` times of the training, weighted by the learning rate. It ranks records;
its size says little, because other records would have taught a part of the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dataenvgym.records import TrainingDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers import adapters
from dataenvgym.students.trainers.compute import resolve_device, workers
from dataenvgym.students.trainers.examples import padding_token, supervised_examples
from dataenvgym.students.trainers.in_process import training
from dataenvgym.students.trainers.loop import updates
from dataenvgym.students.trainers.objectives import CrossEntropy, by_length, padder
from dataenvgym.students.trainers.student import load_base_model, load_tokenizer
from dataenvgym.students.trainers.support import Extra

CHECKPOINTS = 5
"""Times during a training at which gradients are compared."""


class GoldAnswers:
    """The loss of a student on gold answers: cross-entropy, the mean over their tokens.

    Args:
        records: whose answers are learned in stage `sft`, with tools and calls as text.
        config: of the trainings; it names the student.
        threads, device: as `InProcessTrainer`.
    """

    def __init__(
        self, records: Sequence[TrainingDatum], config: TrainingConfig, threads: int, device: str
    ) -> None:
        assert config.model_name_or_path is not None
        self._device, self._threads = device, threads
        tokenizer = load_tokenizer(
            config.model_name_or_path, chat_template_kwargs=config.chat_template_kwargs
        )
        dtype = torch.bfloat16 if config.bf16 else torch.float32
        where = resolve_device(device)
        self._base = load_base_model(config.model_name_or_path, device=where, dtype=dtype)
        supervised: Any = records
        self._examples = supervised_examples(supervised, tokenizer, config.cutoff_len)
        self._objective = CrossEntropy(self._examples, padder(padding_token(tokenizer), where))
        everything = range(len(self._examples))
        (self._scale,) = self._objective.scales([everything])

    def loss(self, adapter: Path | None) -> float:
        """The loss with the adapter in a folder; None for the untouched student."""
        with workers(self._threads, self._base.device) as run:
            model = self._base
            if adapter is not None:
                model = adapters.put_on(self._base, adapters.Adapter.read(adapter))
                adapters.speed_up_layers(model)

            def compute(part: list[int]) -> float:
                with torch.no_grad():
                    return float(self._objective.loss(model, part, None))

            total: float = sum(run(compute, by_length(self._examples, model)[1]))
            return total * self._scale

    def effects(self, config: TrainingConfig) -> list[float]:
        """For each record of a training in stage `sft`, the estimate of how it lowers the loss.

        The mean of the absolute values is 1. The training is repeated for it, with the files that
        `config` names.
        """
        with training(config, self._threads, self._device) as begun:
            model, objective = begun.model, begun.objective
            weights = [p for p in model.parameters() if p.requires_grad]
            n_steps = len(updates(len(objective), config))
            ends = {round(n_steps * (i + 1) / CHECKPOINTS) for i in range(CHECKPOINTS)}
            epsilon = Extra.of(config).adam_epsilon
            squares = [torch.zeros_like(weight) for weight in weights]
            effects, rates = [0.0] * len(objective), 0.0
            for step in begun.steps:
                torch._foreach_addcmul_(squares, *[[w.grad for w in weights]] * 2)
                rates += step.learning_rate / n_steps
                if step.step not in ends:
                    continue
                was_training = model.training
                model.eval()
                direction = [
                    gradient / ((square / step.step).sqrt() + epsilon)
                    for gradient, square in zip(
                        self._gradient(model, weights), squares, strict=True
                    )
                ]

                def product(i: int, along: list[torch.Tensor] = direction) -> float:
                    loss = objective.loss(model, [i], None)
                    own = torch.autograd.grad(loss, weights, materialize_grads=True)
                    return float(sum(map(torch.sum, torch._foreach_mul(own, along))))

                products = begun.run(product, range(len(objective)))
                model.train(was_training)
                for i, value in enumerate(products):
                    effects[i] += rates * value
                rates = 0.0
        mean = sum(map(abs, effects)) / len(effects)
        return [effect / mean if mean else 0.0 for effect in effects]

    def _gradient(self, model: Any, weights: list[torch.Tensor]) -> list[torch.Tensor]:
        total = [torch.zeros_like(weight) for weight in weights]
        for part in by_length(self._examples, model)[1]:
            loss = self._objective.loss(model, part, None) * self._scale
            torch._foreach_add_(total, torch.autograd.grad(loss, weights, materialize_grads=True))
        return total
