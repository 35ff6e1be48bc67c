"""Many adapters trained at once (`train_each`), in common steps if they share a frozen base.

A pass computes a batch of each of several trainings: the base multiplies all rows at once, and each
row gets the product of its own adapter's LoRA pair. Everything else belongs to one training: its
records and their order, its batches, optimizer, learning rate, rank and dropout. So an adapter is
the one that is trained alone, up to rounding.

A round is one batch of every training in the group. It is cut into as many passes as there are
threads, or into more if a pass would have more tokens than `FULL`. Trainings join and leave the
group between rounds, and a group is full once its round fills all threads.

For the same trainings, rounds and passes do not depend on time, so the same call gives the same
adapters, bit for bit.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from peft.tuners.lora import Linear
from torch import nn

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import counting, raise_if_cancelled
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.compute import Run, resolve_device, workers
from dataenvgym.students.trainers.examples import IGNORED
from dataenvgym.students.trainers.in_process import (
    InProcessTrainer,
    needed,
    prepare,
    train_alone,
    write_adapter,
)
from dataenvgym.students.trainers.loop import Optimizer, Step
from dataenvgym.students.trainers.objectives import CrossEntropy, Objective, logs_of_labels
from dataenvgym.students.trainers.row_adapters import (
    Block,
    Layout,
    Pair,
    row_adapters,
    with_row_adapters,
)
from dataenvgym.students.trainers.student import load_base_model
from dataenvgym.students.trainers.support import refuse_unsupported

FULL = 512
"""Tokens of a pass from which on more of them are hardly faster (`make bench-adapters`)."""


def layout_of(model: Any) -> tuple[Layout, list[torch.Tensor]] | None:
    """The pairs of a PEFT model and their weights; None if it trains or adds anything else."""
    layout: list[tuple[str, Pair]] = []
    weights: list[torch.Tensor] = []
    rates = [getattr(model.config, "attention_dropout", 0.0) or 0.0]
    for name, layer in model.named_modules():
        if type(layer) is Linear:
            (own,) = layer.active_adapters
            is_plain = type(layer.base_layer) is nn.Linear and "lm_head" not in name
            if not is_plain or layer.lora_variant or layer.lora_bias[own]:
                return None
            found: Any = layer.lora_A[own], layer.lora_B[own]
            a, b = (matrix.weight for matrix in found)
            rate = getattr(layer.lora_dropout[own], "p", 0.0)
            pair = Pair(len(a), a.shape[1], len(b), layer.scaling[own], rate)
            layout.append((name.removeprefix("base_model.model."), pair))
            weights += [a, b]
        elif "Dropout" in type(layer).__name__ and ".lora_dropout." not in name:
            rates.append(getattr(layer, "p", 0.0))
    known = set(map(id, weights))
    others = [p for p in model.parameters() if p.requires_grad and id(p) not in known]
    return None if others or any(rates) else (tuple(layout), weights)


@dataclass(eq=False)
class Trainee:
    """One training of a group.

    Attributes:
        model: has the adapter.
        layout: of the adapter.
        weights: of the adapter, one after another (n,); those of `model` are views of it.
        context: the context of the episode that sees its progress.
        log: its steps so far.
        error: why it ended before its last step.
        batch: the examples of its next batch, the longest first; none after its last step.
    """

    config: TrainingConfig
    model: Any
    layout: Layout
    weights: torch.Tensor
    objective: CrossEntropy
    context: Context
    log: list[Step] = field(default_factory=list)
    error: Exception | None = None

    @classmethod
    def of(
        cls, config: TrainingConfig, model: Any, objective: Objective, context: Context
    ) -> Trainee | None:
        """The training of a PEFT model, if it can share its steps with others."""
        found = layout_of(model)
        if found is None or not isinstance(objective, CrossEntropy):
            return None
        if any(example.before for example in objective.examples):
            return None  # it has several rows
        layout, weights = found
        flat = torch.cat([weight.detach().flatten() for weight in weights])
        sizes = [weight.numel() for weight in weights]
        for weight, part in zip(weights, torch.split(flat, sizes), strict=True):
            weight.data = part.view(weight.shape)
        return cls(config, model, layout, flat, objective, context)

    def __post_init__(self) -> None:
        self._optimizer = Optimizer([self.weights], self.objective, self.config)
        self._open = ExitStack()
        n_steps = len(self._optimizer.updates)
        self._counter = self.context.run(
            self._open.enter_context, counting("training steps", n_steps)
        )
        self._total: tuple[float, torch.Tensor] | None = None
        self._generator = torch.Generator().manual_seed(self.config.seed)
        self._batches = self._all_batches()
        self.batch, self._scale, self._is_last = next(self._batches)

    def _all_batches(self) -> Iterator[tuple[list[int], float, bool]]:
        for update in self._optimizer.updates:
            scales = self.objective.scales(update.batches)
            for i, (batch, scale) in enumerate(zip(update.batches, scales, strict=True), start=1):
                # in the order of a training alone, in which dropout draws for them
                ordered = sorted(batch, key=self.objective.size, reverse=True)
                yield ordered, scale, i == len(update.batches)

    @property
    def length(self) -> int:
        """The tokens of the longest example of the next batch."""
        return self.objective.size(self.batch[0])

    def dropout(self, pair: Pair, length: int) -> torch.Tensor:
        """The factors of a layer's input in the next batch (examples, `length`, in)."""
        kept = 1 - pair.dropout
        own = torch.empty(len(self.batch), self.length, pair.n_in)
        own.bernoulli_(kept, generator=self._generator).div_(kept)
        return F.pad(own, (0, 0, 0, length - self.length))

    def learn(self, summed: float, gradient: torch.Tensor) -> None:
        """Go on to the next batch, with the summed loss of this one and its gradient (n,)."""
        loss, before = summed * self._scale, self._total
        gradient.mul_(self._scale)
        if before is not None:
            loss += before[0]
            gradient += before[1]
        self._total = loss, gradient
        if self._is_last:
            self._total = None
            try:
                step = self.context.run(self._optimizer.step, loss, [gradient], self._counter)
            except Exception as error:  # noqa: BLE001  it ends this training, and no other
                self.error = error
            else:
                self.log.append(step)
        last: tuple[list[int], float, bool] = [], 0.0, False
        more = self._batches if self.error is None else iter(())
        self.batch, self._scale, self._is_last = next(more, last)
        if not self.batch:
            self.leave()

    def leave(self) -> None:
        """End it, before its last step if need be; the progress of its training ends too."""
        self.context.run(self._open.close)


class AdapterGroup:
    """Trainings that share a base and take their steps together.

    Args:
        base: the frozen model.
        run: computes passes, `threads` of them at a time.
    """

    def __init__(self, base: Any, run: Run, threads: int) -> None:
        self._model = with_row_adapters(base)
        self._run = run
        self._threads = threads
        self._trainees: list[Trainee] = []

    @property
    def is_full(self) -> bool:
        """Whether a round fills all threads, so that another training would only wait."""
        n_tokens = sum(one.length * len(one.batch) for one in self._trainees)
        return n_tokens >= FULL * self._threads

    def join(self, trainee: Trainee) -> None:
        """Take part from the next round on."""
        self._trainees.append(trainee)

    def round(self) -> list[Trainee]:
        """Compute a batch of every training; return those that have left, in the order of joining.

        A training whose step fails leaves with its error.
        """
        raise_if_cancelled()
        passes = self._passes()
        if len(passes) == 1:
            self._compute(passes[0])
        else:
            self._run(self._compute, passes)
        left = [one for one in self._trainees if not one.batch]
        self._trainees = [one for one in self._trainees if one.batch]
        return left

    def _passes(self) -> list[list[Trainee]]:
        """Trainings with batches of similar lengths, and about as many tokens in each pass."""
        order = sorted(self._trainees, key=lambda one: one.length)
        sizes = [one.length * len(one.batch) for one in order]
        total = sum(sizes)
        n = self._threads * max(1, math.ceil(total / (FULL * self._threads)))
        passes: list[list[Trainee]] = [[] for _ in range(n)]
        for one, size, end in zip(order, sizes, accumulate(sizes), strict=True):
            passes[(2 * end - size) * n // (2 * total)].append(one)  # where its middle is
        return [trainees for trainees in passes if trainees]

    def _compute(self, trainees: list[Trainee]) -> None:
        """Compute the next batches of these trainings in one pass."""
        blocks: dict[tuple[Layout, int], list[Trainee]] = {}
        for one in trainees:
            blocks.setdefault((one.layout, len(one.batch)), []).append(one)
        ordered = [one for same in blocks.values() for one in same]
        found = [one.objective.examples[i] for one in ordered for i in one.batch]
        batch = ordered[0].objective.pad(found)
        length = batch.tokens.shape[1]

        def block(layout: Layout, n_rows: int, same: list[Trainee]) -> Block:
            def dropout(pair: Pair) -> torch.Tensor:
                return torch.cat([one.dropout(pair, length) for one in same])

            weights = torch.stack([one.weights for one in same])
            return Block(layout, n_rows, weights, torch.empty_like(weights), dropout)

        of_rows = [block(*shape, same) for shape, same in blocks.items()]
        with row_adapters(of_rows, self._model.device) as anchor:
            logs = logs_of_labels(self._model, batch)
        n_labels = (batch.labels[:, 1:] != IGNORED).sum(1)
        of_each = torch.split(n_labels, [len(one.batch) for one in ordered])
        losses = [-own.sum() for own in torch.split(logs, [int(n.sum()) for n in of_each])]
        torch.autograd.grad(torch.stack(losses).sum(), anchor, allow_unused=True)
        gradients = [gradient for one in of_rows for gradient in one.gradients.unbind()]
        for one, loss, gradient in zip(ordered, losses, gradients, strict=True):
            one.learn(float(loss.detach()), gradient)


@dataclass(frozen=True)
class TrainingRequest:
    """A training to take part in `train_each`.

    Attributes:
        config_path: its YAML file, as for `InProcessTrainer.train`.
        context: the context of the episode that sees its warnings and progress.
        done: gets the adapter's folder, or the error, as soon as the training has ended.
    """

    trainer: InProcessTrainer
    config_path: Path
    context: Context = field(default_factory=copy_context)
    done: Future[Path] = field(default_factory=Future)


def train_each(requests: Sequence[TrainingRequest], threads: int) -> None:
    """Train many adapters: at once where they share a frozen base, otherwise one by one.

    A training that cannot share its steps is done as `InProcessTrainer.train` does it: of another
    stage than `sft` or `pt`, in half precision, with layers that are not plain LoRA. Each request
    gets its own outcome (`TrainingRequest.done`).

    Args:
        threads: CPU cores to compute on.
    """
    groups: dict[tuple[str, str], deque[tuple[TrainingRequest, TrainingConfig]]] = {}
    for request in requests:
        with _failing_alone(request):
            config = TrainingConfig.read(request.config_path)
            refuse_unsupported(config)
            trainer = request.trainer
            draws_elsewhere = config.lora_dropout > 0 and trainer.device != "cpu"
            if config.stage in ("sft", "pt") and not (
                config.bf16 or trainer.left_out or draws_elsewhere or config.curriculum
            ):
                key = needed(config, "model_name_or_path"), trainer.device
                groups.setdefault(key, deque()).append((request, config))
            else:
                _train_alone(request, config)
    for (student, device), group in groups.items():
        _train_group(student, device, group, threads)


def _train_alone(request: TrainingRequest, config: TrainingConfig) -> None:
    own = request.trainer
    adapter = request.context.run(train_alone, config, own.threads, own.device, own.left_out)
    request.done.set_result(adapter)


@contextmanager
def _failing_alone(request: TrainingRequest) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001  it is raised where `done` is read
        request.done.set_exception(error)


def _train_group(
    student: str,
    device_name: str,
    waiting: deque[tuple[TrainingRequest, TrainingConfig]],
    threads: int,
) -> None:
    """Train adapters of one student, as many at once as fill the machine."""
    try:
        device = resolve_device(device_name)
        base = load_base_model(student, device=device, dtype=torch.float32)
    except ConfigurationError as error:
        for request, _ in waiting:
            request.done.set_exception(error)
        return
    with workers(threads, device) as run:
        group = AdapterGroup(base, run, threads)
        owners: dict[Trainee, TrainingRequest] = {}
        try:
            while waiting or owners:
                while waiting and not group.is_full:
                    request, config = waiting.popleft()
                    with _failing_alone(request):
                        model, objective = request.context.run(prepare, config, device, run)
                        trainee = Trainee.of(config, model, objective, request.context)
                        if trainee is None:
                            _train_alone(request, config)
                        else:
                            group.join(trainee)
                            owners[trainee] = request
                for trainee in group.round():
                    request = owners.pop(trainee)
                    with _failing_alone(request):
                        own = trainee.config, trainee.model, trainee.log
                        if trainee.error is None:
                            request.done.set_result(request.context.run(write_adapter, *own))
                        else:
                            request.done.set_exception(trainee.error)
        finally:  # after Ctrl-C some are left
            for trainee in owners:
                trainee.leave()
