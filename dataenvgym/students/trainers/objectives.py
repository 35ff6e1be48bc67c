"""The losses of the stages.

A batch's loss is a sum over its examples, divided by a number that is known before any of them is
computed. So a batch can be computed in parts, whose losses and gradients add up: `scale` times the
sum of `loss` over the parts.

- `sft`, `pt`: mean cross-entropy over all labeled tokens of an update.
- `dpo` (Rafailov et al. 2023): -log sigmoid(beta * ((chosen - its reference) - (rejected - its
  reference))), with log-probabilities summed over a response; plus `pref_ftx` times the mean
  negative log-probability of the chosen tokens. If answers are segments of several turns, the sums
  are over all assistant turns in them: SDPO (Kong et al. 2025), and, if the segments are whole
  dialogues, ETO (Song et al. 2024). With `pref_discount`, later turns count less: DMPO (Shi et al.
  2024; see `scored.turn_discounts`).
- `kto` (Ethayarajh et al. 2024): 1 - sigmoid(beta * (margin - KL)) for desirable answers and
  1 - sigmoid(beta * (KL - margin)) for the others, weighted; margin is the log-probability minus
  its reference, KL the mean margin of mismatched answers over the batch, at least 0.

The formula of stage `scored` is in `scored`; `ScoredTurns` computes it.

A reference is the output of a frozen model; it is computed once, before training begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
import torch.nn.functional as F

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.compute import Run, is_large, precision
from dataenvgym.students.trainers.examples import IGNORED, Example, Judged, Pair, Scored
from dataenvgym.students.trainers.large import label_logs, logits_only_at
from dataenvgym.students.trainers.scored import ScoredLoss, turn_discounts


@dataclass(frozen=True)
class Batch:
    """Examples padded on the right to a common length; all tensors are (rows, length).

    Attributes:
        n_rows: of each example.
    """

    tokens: torch.Tensor
    mask: torch.Tensor
    labels: torch.Tensor
    n_rows: list[int]

    def of_examples(self, values: torch.Tensor) -> torch.Tensor:
        """The sums of rows' values over the rows of each example."""
        if len(values) == len(self.n_rows):
            return values
        return torch.stack([part.sum() for part in torch.split(values, self.n_rows)])


def pad(examples: Sequence[Example], padding: int, device: torch.device) -> Batch:
    """The examples as one batch, padded with the token `padding`."""
    length = max(len(row.tokens) for e in examples for row in e.rows)
    rows = [(r.tokens, r.labels, length - len(r.tokens)) for e in examples for r in e.rows]
    return Batch(
        tokens=torch.tensor([t + [padding] * n for t, _, n in rows], device=device),
        mask=torch.tensor([[1] * len(t) + [0] * n for t, _, n in rows], device=device),
        labels=torch.tensor([labels + [IGNORED] * n for _, labels, n in rows], device=device),
        n_rows=[len(example.rows) for example in examples],
    )


_REFERENCE_BATCH = 64
_MOST_TOKENS, _FEWEST_TOKENS = 512, 128  # of a part, for a large model
_TOGETHER = 4  # parts that may be computed at the same time

Pad = Callable[[Sequence[Example]], Batch]


class _ExampleLosses:
    """The loss of examples, which are identified by their position."""

    def __init__(self, examples: Sequence[Any], pad: Pad) -> None:
        self.examples = examples
        self.pad = pad

    def __len__(self) -> int:
        return len(self.examples)

    def scales(self, batches: Sequence[Sequence[int]]) -> list[float]:
        """For each batch of an update, the factor for the sum of its losses."""
        return [1.0 / (len(batch) * len(batches)) for batch in batches]

    def context(self, model: Any, batch: Sequence[int], run: Run) -> torch.Tensor | None:
        """A value shared by the losses of a batch, if there is one; without gradient."""
        return None


class CrossEntropy(_ExampleLosses):
    """Stages `sft` and `pt`."""

    def size(self, i: int) -> int:
        """The number of tokens of an example, without padding."""
        return sum(len(row.tokens) for row in self.examples[i].rows)

    def scales(self, batches: Sequence[Sequence[int]]) -> list[float]:
        # the first token is predicted from nothing, so it is never learned
        rows = (row for batch in batches for i in batch for row in self.examples[i].rows)
        labels = (row.labels[1:] for row in rows)
        learned = sum(len(row) - row.count(IGNORED) for row in labels)
        return [1.0 / max(learned, 1)] * len(batches)

    def loss(self, model: Any, part: Sequence[int], context: torch.Tensor | None) -> torch.Tensor:
        """The summed loss of some examples of a batch."""
        batch = self.pad([self.examples[i] for i in part])
        if is_large(model):
            return -logs_of_labels(model, batch).sum()
        logits = _logits(model, batch)
        return F.cross_entropy(
            logits[:, :-1].flatten(0, 1),
            batch.labels[:, 1:].flatten(),
            ignore_index=IGNORED,
            reduction="sum",
        )


class DPO(_ExampleLosses):
    """Stage `dpo`, with the sigmoid loss."""

    def __init__(
        self, pairs: Sequence[Pair], config: TrainingConfig, pad: Pad, reference: Any, run: Run
    ) -> None:
        super().__init__(pairs, pad)
        self._beta = config.pref_beta
        self._ftx = config.pref_ftx
        self._discount = config.pref_discount
        self._chosen, self._rejected = (
            _references(reference, examples, pad, run, self._discount)
            for examples in ([pair.chosen for pair in pairs], [pair.rejected for pair in pairs])
        )

    def size(self, i: int) -> int:
        pair = self.examples[i]
        return sum(len(row.tokens) for row in (*pair.chosen.rows, *pair.rejected.rows))

    def loss(self, model: Any, part: Sequence[int], context: torch.Tensor | None) -> torch.Tensor:
        pairs = [self.examples[i] for i in part]
        batch = self.pad([p.chosen for p in pairs] + [p.rejected for p in pairs])
        sums, lengths = log_probabilities(model, batch, self._discount)
        chosen, rejected = sums.chunk(2)
        at = list(part)
        margin = (chosen - self._chosen[at]) - (rejected - self._rejected[at])
        loss = -F.logsigmoid(self._beta * margin).sum()
        if self._ftx:
            loss = loss - self._ftx * (chosen / lengths.chunk(2)[0]).sum()
        return loss


class KTO(_ExampleLosses):
    """Stage `kto`."""

    def __init__(
        self, judged: Sequence[Judged], config: TrainingConfig, pad: Pad, reference: Any, run: Run
    ) -> None:
        super().__init__(judged, pad)
        self._beta = config.pref_beta
        self._weights = (config.kto_rejected_weight, config.kto_chosen_weight)
        self._references = _references(reference, [j.example for j in judged], pad, run)
        self._mismatched = _references(reference, [j.mismatched for j in judged], pad, run)

    def size(self, i: int) -> int:
        return len(self.examples[i].example.tokens)

    def context(self, model: Any, batch: Sequence[int], run: Run) -> torch.Tensor:
        own = _references(model, [self.examples[i].mismatched for i in batch], self.pad, run)
        return (own - self._mismatched[list(batch)]).mean().clamp(min=0)

    def loss(self, model: Any, part: Sequence[int], context: torch.Tensor | None) -> torch.Tensor:
        assert context is not None
        judged = [self.examples[i] for i in part]
        sums, _ = log_probabilities(model, self.pad([j.example for j in judged]))
        margin = sums - self._references[list(part)]
        sign = sums.new_tensor([1.0 if j.desirable else -1.0 for j in judged])
        weight = sums.new_tensor([self._weights[j.desirable] for j in judged])
        return (weight * (1 - torch.sigmoid(self._beta * sign * (margin - context)))).sum()


class ScoredTurns(_ExampleLosses):
    """The objective of stage `scored`, for the in-process trainer.

    Args:
        scored: each with at least one turn.
        model: the student to train, before the training.
        base: the model for `scored_kl`; by default, `model` as it is now.
    """

    def __init__(
        self,
        scored: Sequence[Scored],
        config: TrainingConfig,
        pad: Pad,
        model: Any,
        run: Run,
        base: Any = None,
    ) -> None:
        super().__init__(scored, pad)
        self._loss = ScoredLoss.of(dict(config))
        tokens = [self._loss.of_turns(one.weights, one.lengths) for one in scored]
        self._weights = [weights.to(model.device) for weights, _ in tokens]
        self._shares = [shares.to(model.device) for _, shares in tokens]
        examples = [one.example for one in scored]
        self._sampled: list[torch.Tensor] | None = None
        self._base: list[torch.Tensor] | None = None
        if self._loss.clip is not None:
            self._sampled = _log_probabilities(model, examples, config, pad, run)
        if self._loss.kl:
            self._base = _log_probabilities(
                model if base is None else base, examples, config, pad, run
            )

    def size(self, i: int) -> int:
        return sum(len(row.tokens) for row in self.examples[i].example.rows)

    def scales(self, batches: Sequence[Sequence[int]]) -> list[float]:
        of_update = [self.examples[i] for batch in batches for i in batch]
        n_tokens = sum(sum(one.lengths) for one in of_update)
        return [1.0 / self._loss.divisor(len(of_update), n_tokens)] * len(batches)

    def loss(self, model: Any, part: Sequence[int], context: torch.Tensor | None) -> torch.Tensor:
        each, learned = token_log_probabilities(
            model, self.pad([self.examples[i].example for i in part])
        )
        rows = (self._weights, self._shares, self._sampled, self._base)
        of_part = (None if row is None else torch.cat([row[i] for i in part]) for row in rows)
        weights, shares, sampled, base = of_part
        assert weights is not None
        assert shares is not None
        return self._loss.summed(each[learned], weights, shares, sampled, base)


Objective = CrossEntropy | DPO | KTO | ScoredTurns


def _logits(model: Any, batch: Batch) -> torch.Tensor:
    output = model(input_ids=batch.tokens, attention_mask=batch.mask, use_cache=False)
    logits: torch.Tensor = output.logits.float()
    return logits


def token_log_probabilities(model: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """The log-probability of each label (rows, length - 1), and a mask of the labels."""
    labels = batch.labels[:, 1:]
    if is_large(model):
        each = torch.zeros(labels.shape, device=labels.device)
        return each.masked_scatter(
            labels != IGNORED, logs_of_labels(model, batch)
        ), labels != IGNORED
    logs = _logits(model, batch)[:, :-1].log_softmax(-1)
    return logs.gather(2, labels.clamp(min=0).unsqueeze(2)).squeeze(2), labels != IGNORED


def logs_of_labels(model: Any, batch: Batch) -> torch.Tensor:
    """The log-probability of each label (labels,), row by row."""
    labels = batch.labels[:, 1:]
    learned = labels != IGNORED
    with logits_only_at(model, F.pad(learned, (0, 1))):
        # No mask: padding is on the right, and no token sees a later one.
        logits = model(input_ids=batch.tokens, use_cache=False).logits
    if logits.dim() == 3:  # this model computed all of them
        logits = logits[:, :-1][learned]
    return label_logs(logits.float(), labels[learned])


def log_probabilities(
    model: Any, batch: Batch, discount: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each example, the summed log-probability of its labels, and their number."""
    each, learned = token_log_probabilities(model, batch)
    if discount is not None:
        examples = torch.split(learned, batch.n_rows)
        of_turns = [turn_discounts(rows.view(1, -1), discount).view_as(rows) for rows in examples]
        each = each * torch.cat(of_turns)
    return batch.of_examples((each * learned).sum(1)), batch.of_examples(learned.sum(1))


def _references(
    model: Any,
    examples: Sequence[Example],
    pad: Pad,
    run: Run,
    discount: float | None = None,
) -> torch.Tensor:
    """The summed log-probability of each example's labels, without gradient."""

    def compute(part: Sequence[int]) -> torch.Tensor:
        with torch.no_grad():
            return log_probabilities(model, pad([examples[i] for i in part]), discount)[0]

    return torch.stack(of_each(examples, model, run, compute))


def _log_probabilities(
    model: Any, examples: Sequence[Example], config: TrainingConfig, pad: Pad, run: Run
) -> list[torch.Tensor]:
    """The log-probabilities of each example's learned tokens, without gradient."""

    def compute(part: Sequence[int]) -> list[torch.Tensor]:
        with torch.no_grad(), precision(model.device, bf16=config.bf16):
            batch = pad([examples[i] for i in part])
            each, learned = token_log_probabilities(model, batch)
        counts = batch.of_examples(learned.sum(1)).tolist()
        return list(torch.split(each[learned], counts))

    return of_each(examples, model, run, compute)


def of_each(
    examples: Sequence[Example], model: Any, run: Run, compute: Callable[[list[int]], Iterable[Any]]
) -> list[Any]:
    """The result of each example, in order; `compute` gives those of some positions."""
    order, parts = by_length(examples, model)
    found = dict(zip(order, chain.from_iterable(run(compute, parts)), strict=True))
    return [found[i] for i in range(len(examples))]


def by_length(examples: Sequence[Example], model: Any) -> tuple[list[int], list[list[int]]]:
    """The positions of the examples, the shortest first; and the same in parts for the model."""
    order = sorted(range(len(examples)), key=lambda i: len(examples[i].tokens))
    if is_large(model):
        return order, parts_of_equal_size(order, lambda i: len(examples[i].tokens))
    starts = range(0, len(order), _REFERENCE_BATCH)
    return order, [order[start : start + _REFERENCE_BATCH] for start in starts]


def parts_of_equal_size(order: Sequence[int], size: Callable[[int], int]) -> list[list[int]]:
    """Cut a list of examples into parts for a large model.

    Large enough for fast operations, small enough for little memory and padding. Their number is a
    multiple of four where possible, so that 1, 2 or 4 threads end together. It does not depend on
    the number of threads, so that the results do not either.
    """
    total = sum(map(size, order))
    wanted = _TOGETHER * math.ceil(total / (_TOGETHER * _MOST_TOKENS))
    n_parts = max(1, min(wanted, total // _FEWEST_TOKENS))
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    before = 0
    for i in order:
        parts[before * n_parts // total].append(i)
        before += size(i)
    return [part for part in parts if part]


def padder(padding: int, device: torch.device) -> Pad:
    """Makes batches on `device`, padded with the token `padding`."""
    return lambda examples: pad(examples, padding, device)
