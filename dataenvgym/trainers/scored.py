"""The loss of stage `scored`: conversations whose turns have weights.

For one conversation with K assistant turns, scored or not, in which turn k has the weight w_k (0 if
it was not scored) and the tokens t, the loss is

    -(1/K) * sum over k of w_k * mean over t of log p(t)

The loss of an update is the mean over its conversations (or the sum, with
`scored_reduction="sum"`). Each turn counts the same, whatever its length (EPO, Liu et al. 2025).

With `scored_clip` = c, log p is replaced by PPO's surrogate (Schulman et al. 2017): w * log p by
min(w * r, w * clip(r, 1 - c, 1 + c)), where r is the ratio of p to the probability of the token at
sampling time. Where r is 1, both have the same gradient. The probabilities at sampling time are
those of the student before the training, computed before the first step. That is exact if the
records come from that student, with temperature 1, and an approximation for older records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.trainers.compute import Run, precision
from dataenvgym.trainers.examples import Scored
from dataenvgym.trainers.objectives import Pad, by_length, token_log_probabilities


class ScoredTurns:
    """The objective of stage `scored`.

    Args:
        scored: each with at least one turn.
        model: the student to train, before the training.
    """

    def __init__(
        self, scored: Sequence[Scored], config: TrainingConfig, pad: Pad, model: Any, run: Run
    ) -> None:
        self._scored = scored
        self._pad = pad
        self._clip = config.scored_clip
        self._is_mean = config.scored_reduction == "mean"
        self._weights = [_of_each_token(s, [w or 0.0 for w in s.weights], model) for s in scored]
        self._shares = [
            _of_each_token(s, [1 / (len(s.lengths) * max(n, 1)) for n in s.lengths], model)
            for s in scored
        ]
        self._sampled: list[torch.Tensor] = []
        if self._clip is not None:
            self._sampled = _log_probabilities(model, scored, config, pad, run)

    def __len__(self) -> int:
        return len(self._scored)

    def size(self, i: int) -> int:
        return len(self._scored[i].example.tokens)

    def scales(self, batches: Sequence[Sequence[int]]) -> list[float]:
        n = sum(map(len, batches)) if self._is_mean else 1
        return [1.0 / n] * len(batches)

    def context(self, model: Any, batch: Sequence[int], run: Run) -> None:
        return None

    def loss(self, model: Any, part: Sequence[int], context: torch.Tensor | None) -> torch.Tensor:
        batch = self._pad([self._scored[i].example for i in part])
        each, learned = token_log_probabilities(model, batch)
        logs = each[learned]  # of all rows, concatenated
        weights = torch.cat([self._weights[i] for i in part])
        gains = weights * logs
        if self._clip is not None:
            ratio = (logs - torch.cat([self._sampled[i] for i in part])).exp()
            clipped = ratio.clamp(1 - self._clip, 1 + self._clip)
            gains = torch.minimum(weights * ratio, weights * clipped)
        return -(torch.cat([self._shares[i] for i in part]) * gains).sum()


def _of_each_token(scored: Scored, of_turns: Sequence[float], model: Any) -> torch.Tensor:
    """The turn's value for each of its tokens (tokens,)."""
    values = torch.tensor(of_turns, device=model.device)
    return values.repeat_interleave(torch.tensor(scored.lengths, device=model.device))


def _log_probabilities(
    model: Any, scored: Sequence[Scored], config: TrainingConfig, pad: Pad, run: Run
) -> list[torch.Tensor]:
    """The log-probabilities of each conversation's learned tokens, without gradient."""
    examples = [one.example for one in scored]

    def compute(part: Sequence[int]) -> list[torch.Tensor]:
        with torch.no_grad(), precision(model.device, bf16=config.bf16):
            each, learned = token_log_probabilities(model, pad([examples[i] for i in part]))
        return [row[mask] for row, mask in zip(each, learned, strict=True)]

    order, parts = by_length(examples, model)
    found = (row for rows in run(compute, parts) for row in rows)
    placed = dict(zip(order, found, strict=True))
    return [placed[i] for i in range(len(examples))]
