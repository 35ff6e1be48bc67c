"""The loss of stage `scored`: conversations whose turns have weights.

For one conversation with K assistant turns, scored or not, in which turn k has the weight w_k (0 if
it was not scored) and the tokens t, the loss is

    -(1/K) * sum over k of w_k * mean over t of log p(t)

The loss of an update is the mean over its conversations, or their sum (`scored_reduction`). Each
turn counts the same, whatever its length (EPO, Liu et al. 2025). With `token_mean`, it is the mean
of -w * log p over all tokens of the update, as in DAPO (Yu et al. 2025) and verl: each token counts
the same.

With `scored_clip` = c, w * log p is replaced by PPO's surrogate (Schulman et al. 2017)

    g = min(w * r, w * clip(r, 1 - c, 1 + high))

where r is the ratio of p to the probability of the token at sampling time, and high is
`scored_clip_high` (DAPO) or c. Where r is 1, both have the same gradient. If w is below 0, g has no
lower bound; with `scored_clip_dual` = d it is max(g, w * d) (Ye et al. 2020). The probabilities at
sampling time are those of the student before the training, computed before the first step. That is
exact if the records come from that student, with temperature 1, and an approximation for older
records.

With `scored_kl` = b, each token of a scored turn adds b * (exp(x) - x - 1) to its loss, where x is
its log-probability by the base minus log p (Schulman's third estimator of the KL divergence, as in
GRPO, Shao et al. 2024).

LLaMA-Factory's environment, which lacks dataenvgym, loads this file too (see
`llama_factory.scored_training`): it imports only torch at import time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F

_MOST = 20.0
"""Differences of log-probabilities are clipped to this, so that exp is finite (as in verl)."""


@dataclass(frozen=True)
class ScoredLoss:
    """The loss, given the log-probabilities of tokens. For options, see `TrainingConfig`."""

    reduction: str = "mean"
    clip: float | None = None
    clip_high: float | None = None
    clip_dual: float | None = None
    kl: float | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ScoredLoss:
        """Take the options that begin with `scored_` from those of a training."""
        names = {field.name: f"scored_{field.name}" for field in fields(cls)}
        return cls(**{name: options[own] for name, own in names.items() if own in options})

    @property
    def is_relative(self) -> bool:
        """Whether tokens are compared with earlier probabilities, which allows no dropout."""
        return self.clip is not None or bool(self.kl)

    def of_turns(
        self, weights: Sequence[float | None], lengths: Sequence[int]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """For each token of a conversation's turns, its weight (NaN: not scored) and its share.

        Args:
            lengths: the number of tokens of each turn.
        """
        values = [float("nan") if weight is None else weight for weight in weights]
        shares = [1.0 / (len(lengths) * max(n, 1)) for n in lengths]
        if self.reduction == "token_mean":
            shares = [1.0] * len(lengths)
        repeats = torch.tensor(lengths)
        weight, share = (torch.tensor(each).repeat_interleave(repeats) for each in (values, shares))
        return weight, share

    def divisor(self, n_conversations: int, n_tokens: int) -> int:
        """The number by which the summed loss of an update is divided."""
        return max(1, {"mean": n_conversations, "sum": 1, "token_mean": n_tokens}[self.reduction])

    def summed(
        self,
        logs: torch.Tensor,
        weights: torch.Tensor,
        shares: torch.Tensor,
        sampled: torch.Tensor | None = None,
        base: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss, before its division; all arguments are (tokens,).

        Args:
            logs: log p of each token.
            weights, shares: from `of_turns`.
            sampled: log p at sampling time; needed with `clip`.
            base: log p by the base; needed with `kl`.
        """
        w = weights.nan_to_num()
        gains = w * logs
        if self.clip is not None:
            assert sampled is not None
            high = self.clip if self.clip_high is None else self.clip_high
            ratio = (logs - sampled).clamp(-_MOST, _MOST).exp()
            gains = torch.minimum(w * ratio, w * ratio.clamp(1 - self.clip, 1 + high))
            if self.clip_dual is not None:
                gains = torch.where(w < 0, torch.maximum(gains, w * self.clip_dual), gains)
        if self.kl:
            assert base is not None
            x = (base - logs).clamp(-_MOST, _MOST)
            gains = gains - self.kl * ~weights.isnan() * (x.exp() - x - 1)
        return -(shares * gains).sum()


def turn_discounts(learned: torch.Tensor, discount: float) -> torch.Tensor:
    """The factor of each token in DMPO's sums of log-probabilities (Shi et al. 2024).

    In turn t of the T turns of its row, counted from 0, it is (1 - g^(T - t)) / (1 - g^T), where g
    is the discount. So the first turn counts fully, and later ones less.

    Args:
        learned: marks the tokens of the assistant's turns (rows, length); other tokens lie between
            two turns.
    """
    begins = learned & ~F.pad(learned, (1, 0))[:, :-1]
    n_turns = begins.sum(1, keepdim=True).clamp(min=1)
    left = n_turns + 1 - begins.cumsum(1)
    return (1 - discount**left) / (1 - discount**n_turns)
