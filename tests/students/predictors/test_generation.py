from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    MistralConfig,
    MistralForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from dataenvgym.students.predictors.generation import generate, greedy
from dataenvgym.students.trainers.student import load_base_model

PROMPTS = [[3, 80, 90, 4], [3, 100], [3, *range(110, 130), 4], [3, 77, 78, 4], [4]]


def reference(model: Any, prompt: list[int], limit: int, ends: list[int]) -> tuple[list[int], bool]:
    """One token after the other, without batch, padding or cache."""
    tokens = list(prompt)
    for _ in range(limit):
        with torch.inference_mode():
            token = int(model(input_ids=torch.tensor([tokens])).logits[0, -1].argmax())
        if token in ends:
            return tokens[len(prompt) :], True
        tokens.append(token)
    return tokens[len(prompt) :], False


def frequent_tokens(model: Any) -> list[int]:
    """Tokens that the model says early, so that replies end at different places."""
    said = [token for p in PROMPTS for token in reference(model, p, 6, [])[0][1:4]]
    return sorted(set(said))[::3]


def model_of(kind: str, student: Path) -> Any:
    sizes = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 64}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if kind == "llama":
            return load_base_model(str(student), device=torch.device("cpu"), dtype=torch.float32)
        if kind == "qwen3":
            config = Qwen3Config(**sizes, **heads, head_dim=8, initializer_range=0.3)
            return Qwen3ForCausalLM(config).eval()
        if kind == "mistral":
            config = MistralConfig(**sizes, **heads, sliding_window=6, initializer_range=0.3)
            return MistralForCausalLM(config).eval()
        config = GPT2Config(
            vocab_size=300, n_embd=32, n_layer=2, n_head=4, n_positions=40, initializer_range=0.3
        )
        return GPT2LMHeadModel(config).eval()


@pytest.mark.parametrize("kind", ["llama", "qwen3", "mistral", "gpt2"])
def test_a_batch_gives_the_same_replies_as_single_sequences(kind, tiny_student):
    model = model_of(kind, tiny_student)
    ends = frequent_tokens(model)
    limits = [12, 5, 12, 1, 9]
    replies = generate(model, PROMPTS, limits, greedy, end_tokens=ends)
    expected = [reference(model, p, n, ends) for p, n in zip(PROMPTS, limits, strict=True)]
    assert [(reply.tokens, reply.ended) for reply in replies] == expected
    assert len({len(reply.tokens) for reply in replies}) > 1


def test_sequences_that_ended_leave_and_the_others_go_on(tiny_student):
    model = model_of("llama", tiny_student)
    sizes = []
    hook = model.register_forward_pre_hook(
        lambda module, args, kwargs: sizes.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    generate(model, PROMPTS, [2, 2, 8, 8, 1], greedy, end_tokens=[])
    hook.remove()
    # one of five may stay although it has ended; a quarter of them may not
    assert sizes == [5, 5, 2, 2, 2, 2, 2, 2]


def test_a_reply_may_reach_the_last_position_in_a_batch_with_longer_prompts(tiny_student):
    model = model_of("gpt2", tiny_student)
    prompts = [list(range(3, 42)), [3, 4], [5, 6], [7, 8], [9, 10]]
    replies = generate(model, prompts, [1, 30, 30, 30, 30], greedy, end_tokens=[])
    assert [len(reply.tokens) for reply in replies] == [1, 30, 30, 30, 30]
    assert replies[1].tokens == reference(model, [3, 4], 30, [])[0]
