"""Generation with a key-value cache, in batches, for any causal language model.

Prompts are padded on the left, so all sequences of a batch grow at the same end. Finished sequences
leave the batch as soon as that saves more time than rearranging costs.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from dataenvgym.predictors.sampling import Sampler
from dataenvgym.predictors.stopping import StopTexts

# A batch is rearranged once this share of it has ended.
_ENDED = 0.25
_NONE = -1  # marks positions of a reply without a token


@dataclass(frozen=True)
class Generated:
    """The tokens of a reply, without the one that ended it.

    Attributes:
        ended: whether the model ended it; otherwise it was cut off, or stopped by a text.
    """

    tokens: list[int]
    ended: bool


@torch.inference_mode()
def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    draw: Sampler,
    *,
    end_tokens: Sequence[int],
    stops: StopTexts | None = None,
) -> list[Generated]:
    """The replies to prompts, in order.

    Args:
        prompts: their tokens.
        limits: the largest number of tokens of each reply, at least one.
        draw: chooses each token.
        end_tokens: tokens that end a reply.
        stops: texts that also end a reply; the returned tokens contain them, and perhaps more
            tokens behind them.
    """
    device = model.device
    ends = torch.tensor(sorted(end_tokens), device=device)
    limit = torch.tensor(limits, device=device)
    replies = torch.full((len(prompts), max(limits)), _NONE, device=device)
    inputs = _Inputs(model, prompts)
    rows = torch.arange(len(prompts), device=device)
    live = torch.ones_like(rows, dtype=torch.bool)
    for step in range(max(limits)):
        tokens = draw(inputs.next_logits(), rows, step)
        # until the batch is rearranged, finished sequences continue; `_cut` removes the rest
        replies[rows, step] = tokens
        live = live & ~torch.isin(tokens, ends) & (limit[rows] > step + 1)
        if stops is not None:
            last = replies[rows, max(0, step + 1 - stops.window) : step + 1].tolist()
            live = live & ~torch.tensor(stops.are_in(last), device=device)
        n_live = int(live.sum())
        if not n_live:
            break
        inputs.append(tokens)
        if n_live <= (1 - _ENDED) * len(rows):
            inputs.keep(live)
            rows, live = rows[live], live[live]
    ended = set(end_tokens)
    return [_cut(reply[:n], ended) for reply, n in zip(replies.tolist(), limits, strict=True)]


def _cut(tokens: list[int], ends: set[int]) -> Generated:
    for i, token in enumerate(tokens):
        if token in ends or token == _NONE:
            return Generated(tokens[:i], ended=token in ends)
    return Generated(tokens, ended=False)


class _Inputs:
    """The model's input at each step, and its cache."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        self._known = _parameters(model)
        self._cache = DynamicCache(config=model.config)
        longest = max(map(len, prompts))
        gaps = [longest - len(prompt) for prompt in prompts]
        # any token may fill a gap: it is masked
        rows = [[0] * gap + list(prompt) for gap, prompt in zip(gaps, prompts, strict=True)]
        self._tokens = torch.tensor(rows, device=model.device)
        self._mask = torch.tensor(
            [[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device
        )
        self._positions = (self._mask.cumsum(-1) - 1).clamp(min=0)
        self._last_position = (context_length(model) or torch.iinfo(torch.int64).max) - 1

    def next_logits(self) -> torch.Tensor:
        """The logits (rows, vocabulary) of the next token of each row."""
        optional = {"position_ids": self._positions, "logits_to_keep": 1}
        output = self._model(
            input_ids=self._tokens,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            **{name: value for name, value in optional.items() if name in self._known},
        )
        logits: torch.Tensor = output.logits[:, -1].float()
        return logits

    def append(self, tokens: torch.Tensor) -> None:
        """Continue with these tokens, one for each row."""
        self._tokens = tokens.unsqueeze(-1)
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens), 1)], dim=-1)
        # a finished sequence may have reached the last position
        self._positions = (self._positions[:, -1:] + 1).clamp(max=self._last_position)

    def keep(self, live: torch.Tensor) -> None:
        """Continue with only these rows."""
        rows = live.nonzero().squeeze(-1)
        self._cache.batch_select_indices(rows)
        self._tokens, self._mask = self._tokens[rows], self._mask[rows]
        self._positions = self._positions[rows]


def context_length(model: Any) -> int | None:
    """The model's context length in tokens, or None if it is unknown."""
    length: int | None = getattr(model.config, "max_position_embeddings", None)
    return length


def _parameters(model: Any) -> set[str]:
    """The names of the model's inputs."""
    bare = model.get_base_model() if hasattr(model, "get_base_model") else model
    return set(inspect.signature(bare.forward).parameters)
