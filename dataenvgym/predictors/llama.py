"""Generation for large models of Llama's architecture on CPU.

A step calls the model's own layers, but does without what costs as much as their computations: the
cache has room for coming tokens instead of being copied at each step, and masks are extended. What
prompts have in common is computed once: a beginning that all of them share (often the system
prompt), and equal prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from transformers import DynamicCache, LlamaForCausalLM, Qwen2ForCausalLM

from dataenvgym.trainers.compute import is_large

_ROOM = 64  # columns by which a full cache grows
_WORTH_SHARING = 8  # tokens of a common beginning


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


class LlamaInputs:
    """The model's input at each step, and its cache (see `generation`).

    Columns of the cache are: the common beginning, a gap that is masked, the rest of each prompt,
    the reply.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        self._bare = _bare(model)
        unique = list(dict.fromkeys(map(tuple, prompts)))
        shared = 0
        if len(unique) > 1:
            columns = enumerate(zip(*unique, strict=False))
            shortest = min(map(len, unique))
            shared = next((i for i, column in columns if len(set(column)) > 1), shortest)
            shared = min(shared, shortest - 1)
        if shared < _WORTH_SHARING:
            shared = 0
        row_of = {prompt: i for i, prompt in enumerate(unique)}
        rows = torch.tensor([row_of[tuple(prompt)] for prompt in prompts])
        logits, mask, cache = self._prompt_pass(unique, shared)
        self._first: torch.Tensor = logits[rows]
        self._mask: torch.Tensor = mask[rows]
        self._n = self._mask.shape[1]  # columns in use
        self._positions = self._mask.sum(1)  # of the next token
        self._cache = [
            F.pad(torch.stack([layer.keys, layer.values])[:, rows], (0, 0, 0, _ROOM))
            for layer in cache.layers
        ]
        self._tokens: torch.Tensor | None = None
        attention = self._bare.model.layers[0].self_attn
        self._groups: int = attention.num_key_value_groups
        self._size: int = attention.head_dim

    def _prompt_pass(
        self, prompts: Sequence[Sequence[int]], shared: int
    ) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """The logits after each prompt, the mask and the cache, by the model's own forward."""
        cache = DynamicCache(config=self._bare.config)
        if shared:
            beginning = torch.tensor([prompts[0][:shared]])
            self._bare(input_ids=beginning, past_key_values=cache, logits_to_keep=1)
            cache.batch_repeat_interleave(len(prompts))
        longest = max(map(len, prompts))
        gaps = [longest - len(prompt) for prompt in prompts]
        tokens, masks = zip(
            *(
                ([0] * gap + list(p[shared:]), [1] * shared + [0] * gap + [1] * (len(p) - shared))
                for gap, p in zip(gaps, prompts, strict=True)
            ),
            strict=True,
        )
        mask = torch.tensor(masks)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, shared:]
        output = self._bare(
            input_ids=torch.tensor(tokens),
            attention_mask=mask if any(gaps) else None,
            position_ids=positions,
            past_key_values=cache,
            logits_to_keep=1,
        )
        return output.logits[:, -1].float(), mask, cache

    def next_logits(self) -> torch.Tensor:
        """The logits (rows, vocabulary) of the next token of each row."""
        return self._first if self._tokens is None else self._step(self._tokens)

    def append(self, tokens: torch.Tensor) -> None:
        """Continue with these tokens, one for each row."""
        if self._tokens is not None:
            self._positions = self._positions + 1
        self._tokens = tokens
        self._mask = F.pad(self._mask, (0, 1), value=1)

    def keep(self, live: torch.Tensor) -> None:
        """Continue with only these rows."""
        self._cache = [layer[:, live] for layer in self._cache]
        self._mask, self._positions = self._mask[live], self._positions[live]
        if self._tokens is not None:
            self._tokens = self._tokens[live]

    def _step(self, tokens: torch.Tensor) -> torch.Tensor:
        decoder = self._bare.model
        column, rows = self._n, len(tokens)
        self._n += 1
        x = decoder.embed_tokens(tokens)
        cos, sin = self._rotary_at(x)
        mask = None if bool(self._mask.all()) else self._mask.bool()[:, None, None]
        n_kv = self._cache[0].shape[2]
        n_queries = n_kv * self._groups
        for i, layer in enumerate(decoder.layers):
            if column == self._cache[i].shape[3]:
                self._cache[i] = F.pad(self._cache[i], (0, 0, 0, _ROOM))
            keys, values = self._cache[i]
            attention, y = layer.self_attn, layer.input_layernorm(x)
            both = torch.cat([attention.q_proj(y), attention.k_proj(y)], -1)
            both = both.view(rows, n_queries + n_kv, self._size)
            both = both * cos + both.roll(self._size // 2, -1) * sin
            keys[:, :, column] = both[:, n_queries:]
            values[:, :, column] = attention.v_proj(y).view(rows, n_kv, self._size)
            # the queries of a group are like several tokens with the same keys
            seen = F.scaled_dot_product_attention(
                both[:, :n_queries].view(rows, n_kv, self._groups, self._size),
                keys[:, :, : self._n],
                values[:, :, : self._n],
                attn_mask=mask,
                scale=attention.scaling,
            )
            x = x + attention.o_proj(seen.reshape(rows, -1))
            x = x + layer.mlp(layer.post_attention_layernorm(x))
        logits: torch.Tensor = self._bare.lm_head(decoder.norm(x)).float()
        return logits

    def _rotary_at(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines (rows, 1, head size); a sine has the sign of the rotated half."""
        last: int = self._bare.config.max_position_embeddings - 1
        # a finished sequence may have reached the last position
        at = self._positions.clamp(max=last)
        cos, sin = self._bare.model.rotary_emb(x, at.unsqueeze(1))
        half = self._size // 2
        return cos, torch.cat([-sin[..., :half], sin[..., half:]], -1)
