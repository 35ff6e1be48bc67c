"""Generation in batches, for large and small models, compared with transformers on tiny ones."""

import random
from typing import Any

import pytest
import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import generation
from dataenvgym.students.trainers import compute
from dataenvgym.students.trainers.adapters import new_adapter

SIZES = {"vocab_size": 97, "hidden_size": 48, "intermediate_size": 48, "initializer_range": 0.3}
HEADS = {"num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
MODELS: dict[str, Any] = {
    "llama": lambda: LlamaForCausalLM(
        LlamaConfig(**SIZES, **HEADS, max_position_embeddings=300, tie_word_embeddings=True)
    ),
    "llama with scaled positions": lambda: LlamaForCausalLM(
        LlamaConfig(**SIZES, **HEADS, max_position_embeddings=300, rope_parameters=LLAMA3)
    ),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES, **HEADS, max_position_embeddings=300)),
}


def gpt2(n_positions: int) -> Any:
    sizes = {"vocab_size": 97, "n_embd": 48, "n_layer": 2, "n_head": 4, "initializer_range": 0.3}
    return GPT2LMHeadModel(GPT2Config(**sizes, n_positions=n_positions))


OTHERS: dict[str, Any] = {
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SIZES, **HEADS)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(**SIZES, **HEADS, sliding_window=6)),
    "gemma2": lambda: Gemma2ForCausalLM(Gemma2Config(**SIZES, **HEADS)),
    "sliding window": lambda: Qwen2ForCausalLM(
        Qwen2Config(
            **SIZES, **HEADS, use_sliding_window=True, sliding_window=4, max_window_layers=1
        )
    ),
    "positions that depend on the length": lambda: LlamaForCausalLM(
        LlamaConfig(
            **SIZES,
            **HEADS,
            rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
        )
    ),
    "gpt2": lambda: gpt2(140),
}


@pytest.fixture(autouse=True)
def treated_as_large(monkeypatch):
    monkeypatch.setattr(compute, "LARGE", 1)


def made(make: Any) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return make().eval().requires_grad_(False)


def prompts_of(rng: random.Random) -> list[list[int]]:
    beginning = [rng.randrange(97) for _ in range(rng.choice((0, 3, 20)))]
    prompts = [
        [*beginning, *(rng.randrange(97) for _ in range(rng.randint(1, 12)))]
        for _ in range(rng.randint(1, 9))
    ]
    return prompts + prompts[:2] * rng.randint(0, 1)


def with_transformers(model: Any, prompt: list[int], limit: int, ends: list[int]) -> list[int]:
    tokens = torch.tensor([prompt])
    found = model.generate(
        tokens,
        attention_mask=torch.ones_like(tokens),
        max_new_tokens=limit,
        do_sample=False,
        eos_token_id=ends,
        pad_token_id=0,
    )
    reply: list[int] = found[0, len(prompt) :].tolist()
    return reply[:-1] if reply[-1] in ends else reply


def greedy_replies(model: Any, prompts: list[list[int]]) -> list[list[int]]:
    limits = [20] * len(prompts)
    replies = generation.generate(model, prompts, limits, generation.greedy, end_tokens=[])
    return [reply.tokens for reply in replies]


@pytest.mark.parametrize("kind", [*MODELS, *OTHERS, "a small llama"])
def test_greedy_replies_are_those_of_transformers(kind, monkeypatch):
    if "small" in kind:
        monkeypatch.setattr(compute, "LARGE", 10**9)
    model = made((MODELS | OTHERS | {"a small llama": MODELS["llama"]})[kind])
    assert generation.suits_llama_inputs(model) == (kind in MODELS)
    seeds = (1, 4) if kind in OTHERS else (1, 4, 5, 7)
    for seed in seeds:  # all beginnings, few and many prompts, and a cache that grows
        rng = random.Random(seed)
        prompts = prompts_of(rng)
        limits = [rng.choice((1, 5, 17, 90)) for _ in prompts]
        ends = rng.sample(range(97), 2)
        found = generation.generate(model, prompts, limits, generation.greedy, end_tokens=ends)
        for prompt, limit, reply in zip(prompts, limits, found, strict=True):
            assert reply.tokens == with_transformers(model, prompt, limit, ends)


def test_a_separate_adapter_is_used():
    model = new_adapter(made(MODELS["llama"]), TrainingConfig(lora_rank=4)).eval()
    for i, parameter in enumerate(p for p in model.parameters() if p.requires_grad):
        generator = torch.Generator().manual_seed(i)
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.3
    assert generation.suits_llama_inputs(model)
    prompts = prompts_of(random.Random(1))
    expected = [with_transformers(model, prompt, 20, []) for prompt in prompts]
    assert greedy_replies(model, prompts) == expected


def test_a_common_beginning_and_equal_prompts_are_computed_once():
    model = made(MODELS["llama"])
    sizes = []
    model.model.embed_tokens.register_forward_pre_hook(
        lambda module, inputs: sizes.append(tuple(inputs[0].shape))
    )
    beginning = list(range(30))
    prompts = [[*beginning, 40], [*beginning, 50, 51], [*beginning, 40]]
    generation.generate(model, prompts, [3] * 3, generation.greedy, end_tokens=[])
    assert sizes == [(1, 30), (2, 2), (3, 1), (3, 1)]


def test_sequences_that_ended_leave_and_the_others_go_on(monkeypatch):
    monkeypatch.setattr(compute, "LARGE", 10**9)
    model, sizes = made(MODELS["llama"]), []
    model.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    prompts = [[3, 80, 90, 4], [3, 7], [3, *range(20, 40), 4], [3, 77, 78, 4], [4]]
    generation.generate(model, prompts, [2, 2, 8, 8, 1], generation.greedy, end_tokens=[])
    # one of five may stay although it has ended; a quarter of them may not
    assert sizes == [5, 5, 2, 2, 2, 2, 2, 2]


def test_a_reply_may_reach_the_last_position_in_a_batch_with_longer_prompts():
    model = made(lambda: gpt2(40))
    prompts = [list(range(39)), [3, 4], [5, 6], [7, 8], [9, 10]]
    limits = [1, 30, 30, 30, 30]
    replies = generation.generate(model, prompts, limits, generation.greedy, end_tokens=[])
    assert [len(reply.tokens) for reply in replies] == limits
    assert replies[1].tokens == with_transformers(model, [3, 4], 30, [])
