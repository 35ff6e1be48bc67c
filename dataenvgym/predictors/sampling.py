"""How the next token is drawn from a model's logits.

A sampler draws for many sequences at once. Each draw depends only on the sequence's own logits and
random numbers, not on its neighbors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import torch

from dataenvgym.interfaces import SamplingParameters
from dataenvgym.seeding import derive_rng


class Sampler(Protocol):
    """Draws a token for each row."""

    def __call__(self, logits: torch.Tensor, rows: torch.Tensor, step: int) -> torch.Tensor:
        """Tokens (rows,) for logits (rows, vocabulary).

        Args:
            rows: the numbers of these sequences in the batch.
            step: how many tokens each has already drawn.
        """
        ...


def greedy(logits: torch.Tensor, rows: torch.Tensor, step: int) -> torch.Tensor:
    """The most probable token."""
    return logits.argmax(-1)


class Nucleus:
    """Draws from the smallest set of most probable tokens whose mass reaches `top_p`.

    Args:
        uniform: random numbers in [0, 1), one for each sequence and step.
    """

    def __init__(self, temperature: float, top_p: float, uniform: torch.Tensor) -> None:
        self._temperature = temperature
        self._top_p = top_p
        self._uniform = uniform

    def __call__(self, logits: torch.Tensor, rows: torch.Tensor, step: int) -> torch.Tensor:
        # subtract the largest, so that a tiny temperature does not overflow
        shifted = logits.double() - logits.double().amax(-1, keepdim=True)
        mass = (shifted / self._temperature).softmax(-1)
        uniform = self._uniform[rows, step].unsqueeze(-1)
        if self._top_p == 1.0:
            return _draw(mass, uniform).squeeze(-1)
        mass, tokens = mass.sort(descending=True, stable=True)
        outside = mass.cumsum(-1) - mass >= self._top_p
        places = _draw(mass.masked_fill(outside, 0.0), uniform)
        return tokens.gather(-1, places).squeeze(-1)


def _draw(mass: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """A position in each row, drawn with probability proportional to its mass."""
    cumulative = mass.cumsum(-1)
    places = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)
    # rounding may lead past the end
    last = (mass > 0) * torch.arange(mass.shape[-1], device=mass.device)
    return places.minimum(last.amax(-1, keepdim=True))


def uniform_numbers(
    prompts: Sequence[Sequence[int]], parameters: SamplingParameters
) -> list[torch.Tensor]:
    """The random numbers of each prompt, one for each possible token of its reply.

    They derive from the seed, the prompt's tokens, and how often the same prompt came before, so
    a prompt draws the same reply whatever other prompts are in the call.
    """
    seen: Counter[tuple[int, ...]] = Counter()
    numbers = []
    for prompt in map(tuple, prompts):
        rng = derive_rng(parameters.seed, "sample", " ".join(map(str, prompt)), seen[prompt])
        seen[prompt] += 1
        numbers.append(torch.from_numpy(rng.random(parameters.max_tokens)))
    return numbers
