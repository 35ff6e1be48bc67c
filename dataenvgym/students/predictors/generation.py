"""Generation with a key-value cache, in batches, for any causal language model.

Prompts are padded on the left, so all sequences of a batch grow at the same end. Finished sequences
leave the batch as soon as that saves more time than rearranging costs.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import DynamicCache

from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import COMPLETION, ToolFormat
from dataenvgym.seeding import derive_rng
from dataenvgym.students.predictors.llama import LlamaInputs, fits
from dataenvgym.students.trainers.chat_format import render
from dataenvgym.students.trainers.row_adapters import RowAdapters, row_adapters


def encode_prompts(
    tokenizer: Any,
    conversations: Sequence[Conversation],
    tool_format: ToolFormat,
    *,
    context: int | None,
) -> list[list[int] | Failure]:
    """The tokens of each conversation, up to the beginning of the student's reply.

    Args:
        tool_format: writes tools, calls and results as text. With `COMPLETION`, the bare text gets
            only the special tokens that the tokenizer adds to any text, as at a server.
        context: the student's context length in tokens, its reply included.

    If the template cannot render a conversation, or there is no room left for a reply, only that
    conversation is a failure.
    """
    is_bare = tool_format is COMPLETION
    flat = map(tool_format.flatten, conversations)
    texts = [chat[-1].content if is_bare else _render(tokenizer, chat) for chat in flat]
    rendered = [text for text in texts if isinstance(text, str)]
    encoded = iter(tokenizer(rendered, add_special_tokens=is_bare)["input_ids"] if rendered else ())
    prompts: list[list[int] | Failure] = []
    for text in texts:
        prompt = text if isinstance(text, Failure) else next(encoded)
        if not isinstance(prompt, Failure):
            if not prompt:
                prompt = Failure(reason="this prompt is written without any token")
            elif context is not None and len(prompt) >= context:
                prompt = Failure(
                    reason=f"the prompt has {len(prompt)} tokens, and the student's context of "
                    f"{context} leaves no room for a reply"
                )
        prompts.append(prompt)
    return prompts


def _render(tokenizer: Any, conversation: Conversation) -> str | Failure:
    try:
        return render(tokenizer, conversation)
    except TemplateError as error:
        return Failure(reason=f"the student's chat template cannot render this: {error}")


Sampler = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]
"""Draws tokens (rows,): from logits (rows, vocabulary), the numbers of these sequences in the batch
(rows,), and how many tokens each has already drawn."""


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


class StopTexts:
    """Finds stop texts in the last tokens of replies.

    This only saves computing the steps behind a text. `SamplingParameters.until_stop` decides on
    the whole reply which text ends it, and where.

    Attributes:
        window: number of last tokens to search. Each token has at least one byte of a text; some
            more are needed because decoding may change the first ones.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        # half of a character is decoded to U+FFFD, which disappears with the next token
        self._texts = [text for text in texts if "\ufffd" not in text]
        self.window = max(len(text.encode()) for text in texts) + 4

    def are_in(self, replies: Sequence[Sequence[int]]) -> list[bool]:
        """Whether one of the texts is in the last tokens of each reply."""
        found = self._tokenizer.batch_decode(replies, skip_special_tokens=True)
        return [any(text in reply for text in self._texts) for reply in found]


# A batch is rearranged once this share of it has ended.
_ENDED = 0.25
_NONE = -1  # marks positions of a reply without a token


@dataclass(frozen=True)
class Generated:
    """The tokens of a reply, without the one that ended it.

    Attributes:
        ended: whether the model ended it; otherwise it was cut off, or stopped by a text.
        diverged: whether the model's logits were not numbers, so there is no reply.
    """

    tokens: list[int]
    ended: bool
    diverged: bool


@torch.inference_mode()
def generate(
    model: Any,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    draw: Sampler,
    *,
    end_tokens: Sequence[int],
    stops: StopTexts | None = None,
    adapters: RowAdapters | None = None,
    of_rows: Sequence[int] = (),
) -> list[Generated]:
    """The replies to prompts, in order.

    Args:
        prompts: their tokens.
        limits: the largest number of tokens of each reply, at least one.
        draw: chooses each token.
        end_tokens: tokens that end a reply.
        stops: texts that also end a reply; the returned tokens contain them, and perhaps more
            tokens behind them.
        adapters: those of the rows, with `model` theirs.
        of_rows: the number of each prompt's adapter; prompts of one adapter are together.
    """
    device = model.device
    ends = torch.tensor(sorted(end_tokens), device=device)
    limit = torch.tensor(limits, device=device)
    replies = torch.full((len(prompts), max(limits)), _NONE, device=device)
    inputs = (
        LlamaInputs(model, prompts) if adapters is None and fits(model) else _Inputs(model, prompts)
    )
    blocks = [] if adapters is None else adapters.blocks(of_rows)
    rows = torch.arange(len(prompts), device=device)
    live = torch.ones_like(rows, dtype=torch.bool)
    diverged = torch.zeros_like(live)
    for step in range(max(limits)):
        with row_adapters(blocks, device) if blocks else nullcontext():
            logits = inputs.next_logits()
        tokens = draw(logits, rows, step)
        diverged[rows] |= live & logits.isnan().any(-1)
        # until the batch is rearranged, finished sequences continue; `_cut` removes the rest
        replies[rows, step] = tokens
        live = live & ~torch.isin(tokens, ends) & (limit[rows] > step + 1) & ~diverged[rows]
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
            if adapters is not None:
                blocks = adapters.blocks([of_rows[i] for i in rows.tolist()])
    ended = set(end_tokens)
    found = zip(replies.tolist(), limits, diverged.tolist(), strict=True)
    return [_cut(reply[:n], ended, is_broken) for reply, n, is_broken in found]


def _cut(tokens: list[int], ends: set[int], diverged: bool) -> Generated:
    for i, token in enumerate(tokens):
        if token in ends or token == _NONE:
            return Generated(tokens[:i], token in ends, diverged)
    return Generated(tokens, ended=False, diverged=diverged)


class _Inputs:
    """The model's input at each step, and its cache."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        self._model = model
        bare = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._known = set(inspect.signature(bare.forward).parameters)
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
