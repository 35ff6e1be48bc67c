"""Generation with a key-value cache, in batches, for any causal language model.

Prompts are padded on the left, so all sequences of a batch grow at the same end. Finished sequences
leave the batch as soon as that saves more time than rearranging costs.

For large models of Llama's architecture on CPU, `LlamaInputs` computes what the model's own code
does, without what costs as much as the products of matrices:

- Weights are packed once in the order in which oneDNN reads them, those of queries, keys and values
  as one matrix, and those of gate and up projection.
- The cache has room for coming tokens instead of being copied at each step.
- What prompts have in common is computed once: a beginning that all of them share (often the
  system prompt), and equal prompts.
"""

from __future__ import annotations

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jinja2 import TemplateError
from torch import nn
from transformers import DynamicCache, LlamaForCausalLM, Qwen2ForCausalLM

from dataenvgym.events import raise_if_cancelled
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Conversation
from dataenvgym.records.tool_formats import COMPLETION, ToolFormat
from dataenvgym.seeding import derive_rng
from dataenvgym.students.trainers.chat_format import render
from dataenvgym.students.trainers.compute import is_large
from dataenvgym.students.trainers.large import MOST_PACKED, PACKS, frozen_linear, packed
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
        LlamaInputs(model, prompts)
        if adapters is None and suits_llama_inputs(model)
        else _Inputs(model, prompts)
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
        self._known = set(inspect.signature(_bare(model).forward).parameters)
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


_ROOM = 64  # columns by which a full cache grows
_WORTH_SHARING = 8  # tokens of a common beginning

_Product = Callable[[torch.Tensor], torch.Tensor]


def suits_llama_inputs(model: Any) -> bool:
    """Whether `LlamaInputs` computes what the model does, and is faster."""
    bare = _bare(model)
    config = bare.config
    ropes = getattr(config, "rope_parameters", None) or {}
    return (
        type(bare) in (LlamaForCausalLM, Qwen2ForCausalLM)
        and is_large(bare)
        and set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        and ropes.get("rope_type") in ("default", "linear", "llama3")
        and config._attn_implementation == "sdpa"
    )


def _bare(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@dataclass(frozen=True)
class _Layer:
    """The products of a layer with its weights: queries, keys and values; gate and up."""

    qkv: _Product
    out: _Product
    gate_up: _Product
    down: _Product


_PACKING = threading.Lock()


def _products(bare: Any) -> tuple[list[_Layer], _Product]:
    """The products of all layers and of the output layer, packed when they are first needed."""
    with _PACKING:
        found: tuple[list[_Layer], _Product] | None = PACKS.get(bare)
        if found is None:
            n_bytes = sum(p.numel() * p.element_size() for p in bare.parameters())
            product = partial(_product, pack=n_bytes <= MOST_PACKED)
            layers = [
                _Layer(
                    product(*(getattr(layer.self_attn, f"{name}_proj") for name in "qkv")),
                    product(layer.self_attn.o_proj),
                    product(layer.mlp.gate_proj, layer.mlp.up_proj),
                    product(layer.mlp.down_proj),
                )
                for layer in bare.model.layers
            ]
            found = PACKS[bare] = layers, product(bare.lm_head)
    return found


def _product(*layers: Any, pack: bool) -> _Product:
    """The outputs of linear layers, concatenated; a layer with a separate adapter is called."""
    if not pack or any(type(layer) is not nn.Linear for layer in layers):
        return lambda x: torch.cat([layer(x) for layer in layers], -1)
    weight = packed(torch.cat([layer.weight for layer in layers]))
    biases = [layer.bias for layer in layers if layer.bias is not None]
    bias = torch.cat(biases) if biases else None
    return lambda x: frozen_linear(x, weight, bias)


class LlamaInputs:
    """The model's input at each step, and its cache (see `generation`).

    Columns of the cache are: the common beginning, a gap that is masked, the rest of each prompt,
    the reply.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        bare = _bare(model)
        self._decoder = bare.model
        self._products, self._head = _products(bare)
        self._last_position: int = bare.config.max_position_embeddings - 1
        attention = self._decoder.layers[0].self_attn
        self._size: int = attention.head_dim
        self._n_kv: int = bare.config.num_key_value_heads
        self._n_queries: int = self._n_kv * attention.num_key_value_groups
        self._tokens: torch.Tensor | None = None
        unique = list(dict.fromkeys(map(tuple, prompts)))
        self._first = self._after(unique)
        if len(unique) < len(prompts):
            row_of = {prompt: i for i, prompt in enumerate(unique)}
            rows = torch.tensor([row_of[tuple(prompt)] for prompt in prompts])
            self._first = self._first[rows]
            self.keep(rows)

    def _after(self, prompts: Sequence[Sequence[int]]) -> torch.Tensor:
        """Fill the cache with different prompts; the logits after each."""
        longest, shortest = max(map(len, prompts)), min(map(len, prompts))
        shared = 0
        if len(prompts) > 1:
            columns = enumerate(zip(*prompts, strict=False))
            shared = next((i for i, column in columns if len(set(column)) > 1), shortest)
            shared = min(shared, shortest - 1)
        if shared < _WORTH_SHARING:
            shared = 0
        weight, rows = self._decoder.embed_tokens.weight, 1 if shared else len(prompts)
        shape = (2, rows, self._n_kv, longest + _ROOM, self._size)
        self._cache = [torch.empty(shape, dtype=weight.dtype) for _ in self._products]
        self._n = 0  # columns in use
        self._mask = torch.ones(rows, shared, dtype=torch.bool)
        self._positions = torch.zeros(rows, dtype=torch.int64)  # of the next token
        if shared:
            self._compute(torch.tensor([prompts[0][:shared]]), torch.arange(shared)[None])
            self.keep(torch.zeros(len(prompts), dtype=torch.int64))
        gaps = [longest - len(prompt) for prompt in prompts]
        tokens = [[0] * gap + list(p[shared:]) for gap, p in zip(gaps, prompts, strict=True)]
        is_token = torch.arange(longest - shared) >= torch.tensor(gaps)[:, None]
        self._mask = torch.cat([self._mask, is_token], 1)
        positions = (self._mask.cumsum(1) - 1).clamp(min=0)[:, shared:]
        self._positions = positions[:, -1] + 1
        return self._compute(torch.tensor(tokens), positions)

    def next_logits(self) -> torch.Tensor:
        """The logits (rows, vocabulary) of the next token of each row."""
        if self._tokens is None:
            return self._first
        # a finished sequence may have reached the last position
        positions = self._positions.clamp(max=self._last_position)
        self._positions = self._positions + 1
        return self._compute(self._tokens[:, None], positions[:, None])

    def append(self, tokens: torch.Tensor) -> None:
        """Continue with these tokens, one for each row."""
        self._tokens = tokens
        self._mask = F.pad(self._mask, (0, 1), value=True)

    def keep(self, live: torch.Tensor) -> None:
        """Continue with only these rows."""
        self._cache = [layer[:, live] for layer in self._cache]
        self._mask, self._positions = self._mask[live], self._positions[live]
        if self._tokens is not None:
            self._tokens = self._tokens[live]

    def _compute(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """The logits after tokens (rows, length), which get the next columns of the cache."""
        begin, end = self._n, self._n + tokens.shape[1]
        self._n = end
        x = self._decoder.embed_tokens(tokens)
        cos, sin = self._rotary_at(x, positions)
        attend = self._attention(begin)
        n_turned = self._n_queries + self._n_kv
        for i, (layer, product) in enumerate(
            zip(self._decoder.layers, self._products, strict=True)
        ):
            raise_if_cancelled()  # the layers themselves, which do, are not called here
            if end > self._cache[i].shape[3]:
                self._cache[i] = F.pad(self._cache[i], (0, 0, 0, _ROOM))
            keys, values = self._cache[i]
            heads = product.qkv(layer.input_layernorm(x)).view(*tokens.shape, -1, self._size)
            turned = heads[:, :, :n_turned]
            turned = turned * cos + turned.roll(self._size // 2, -1) * sin
            keys[:, :, begin:end] = turned[:, :, self._n_queries :].transpose(1, 2)
            values[:, :, begin:end] = heads[:, :, n_turned:].transpose(1, 2)
            seen = attend(turned[:, :, : self._n_queries], keys[:, :, :end], values[:, :, :end])
            x = x + product.out(seen)
            gate, up = product.gate_up(layer.post_attention_layernorm(x)).chunk(2, -1)
            x = x + product.down(layer.mlp.act_fn(gate) * up)
        return self._head(self._decoder.norm(x[:, -1])).float()

    def _attention(
        self, begin: int
    ) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
        """Attention of queries (rows, length, heads, size) to keys and values; flat results."""
        length = self._n - begin
        is_full = bool(self._mask.all())
        mask = None if is_full else self._mask[:, None, None]

        def one(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            # the queries of a group are like several tokens with the same keys
            queries = queries.view(len(queries), self._n_kv, -1, self._size)
            return F.scaled_dot_product_attention(queries, keys, values, mask).reshape(
                len(queries), 1, -1
            )

        if length == 1:
            return one
        is_causal = is_full and not begin
        if not is_causal:
            columns = torch.arange(self._n)
            own = torch.arange(begin, self._n)[:, None]
            # a token in a gap sees itself: with nothing to see, it would be no number
            mask = self._mask[:, None] & (columns <= own) | (columns == own)
            mask = mask[:, None]

        def several(
            queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
        ) -> torch.Tensor:
            seen = F.scaled_dot_product_attention(
                queries.transpose(1, 2), keys, values, mask, is_causal=is_causal, enable_gqa=True
            )
            return seen.transpose(1, 2).flatten(2)

        return several

    def _rotary_at(
        self, x: torch.Tensor, positions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines (rows, length, 1, size); a sine has the sign of the rotated half."""
        cos, sin = self._decoder.rotary_emb(x, positions)
        half = self._size // 2
        sin = torch.cat([-sin[..., :half], sin[..., half:]], -1)
        return cos.unsqueeze(2), sin.unsqueeze(2)
