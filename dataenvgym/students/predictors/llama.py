"""Generation for large models of Llama's architecture on CPU.

It computes what the model's own code does, without what costs as much as the products of matrices:

- Weights are packed once in the order in which oneDNN reads them, those of queries, keys and values
  as one matrix, and those of gate and up projection.
- The cache has room for coming tokens instead of being copied at each step.
- What prompts have in common is computed once: a beginning that all of them share (often the
  system prompt), and equal prompts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaForCausalLM, Qwen2ForCausalLM

from dataenvgym.events import raise_if_cancelled
from dataenvgym.students.trainers.compute import is_large
from dataenvgym.students.trainers.large import MOST_PACKED, PACKS, frozen_linear, packed

_ROOM = 64  # columns by which a full cache grows
_WORTH_SHARING = 8  # tokens of a common beginning

_Product = Callable[[torch.Tensor], torch.Tensor]


def fits(model: Any) -> bool:
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
