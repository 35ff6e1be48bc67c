"""The computations for large models, compared with the plain ones on tiny models."""

import random
from typing import Any

import pytest
import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers import compute
from dataenvgym.students.trainers.adapters import new_adapter, speed_up_layers
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import IGNORED, Example, Judged, Pair, Scored
from dataenvgym.students.trainers.loop import Update, _Gradients
from dataenvgym.students.trainers.objectives import (
    DPO,
    KTO,
    CrossEntropy,
    Objective,
    ScoredTurns,
    padder,
)

CPU = torch.device("cpu")
VOCABULARY = 131
SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 48}
HEADS = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
MODELS: dict[str, Any] = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, **HEADS, initializer_range=0.3)),
    "qwen2": lambda: Qwen2ForCausalLM(
        Qwen2Config(**SIZES, **HEADS, initializer_range=0.3, tie_word_embeddings=True)
    ),
    "gemma2": lambda: Gemma2ForCausalLM(
        Gemma2Config(
            **SIZES,
            **HEADS,
            head_dim=8,
            initializer_range=0.3,
            final_logit_softcapping=2.0,
            sliding_window=4,
        )
    ),
    "gpt_neox": lambda: GPTNeoXForCausalLM(
        GPTNeoXConfig(**SIZES, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.3)
    ),
}


def adapted(kind: str, **options: Any) -> tuple[Any, Any]:
    """A random base model, and the same with an adapter that does something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        base = MODELS[kind]().eval().requires_grad_(False)
        model = new_adapter(base, TrainingConfig(lora_rank=4, **options)).train()
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.data = torch.randn(parameter.shape) * 0.1
    return base, model


def example(rng: random.Random, n: int) -> Example:
    tokens = [rng.randrange(VOCABULARY) for _ in range(n)]
    kept = [rng.random() < 0.6 for _ in tokens[1:]] + [True]
    return Example(tokens, [t if k else IGNORED for t, k in zip(tokens, kept, strict=True)])


def objective(stage: str, rng: random.Random, base: Any, model: Any) -> Objective:
    def examples() -> list[Example]:
        return [example(rng, rng.randint(2, 12)) for _ in range(7)]

    pad = padder(0, CPU)
    if stage == "sft":
        silent = Example([1, 2, 3], [IGNORED] * 3)
        return CrossEntropy([*examples(), silent], pad)
    with workers(2, CPU) as run:
        if stage == "dpo":
            pairs = [Pair(a, b) for a, b in zip(examples(), examples(), strict=True)]
            return DPO(pairs, TrainingConfig(pref_ftx=0.3), pad, base, run)
        if stage == "kto":
            judged = [
                Judged(a, b, desirable=i % 2 == 0)
                for i, (a, b) in enumerate(zip(examples(), examples(), strict=True))
            ]
            return KTO(judged, TrainingConfig(), pad, base, run)
        scored = []
        for whole in examples():
            tokens = whole.tokens
            labels = [IGNORED, *tokens[1:]]
            scored.append(Scored(Example(tokens, labels), [rng.random()], [len(tokens) - 1]))
        return ScoredTurns(scored, TrainingConfig(scored_clip=0.2), pad, model, run)


def computed(
    kind: str, stage: str, seed: int, *, threads: int = 1
) -> tuple[float, list[torch.Tensor]]:
    """The loss and the gradients of an update of two accumulated batches."""
    base, model = adapted(kind)
    if compute.is_large(model):
        speed_up_layers(model)
    with workers(threads, CPU) as run:
        made = objective(stage, random.Random(seed), base, model)
        numbers = list(range(len(made)))
        update = Update(1.0, [numbers[:4], numbers[4:]])
        return _Gradients(model, made, TrainingConfig(), threads, run).of(update)


@pytest.fixture
def treated_as_large(monkeypatch):
    """Call it, and every model counts as a large one, in parts of a few tokens."""

    def change() -> None:
        monkeypatch.setattr(compute, "LARGE", 1)
        monkeypatch.setattr("dataenvgym.students.trainers.objectives._FEWEST_TOKENS", 6)

    return change


@pytest.mark.parametrize("stage", ["sft", "dpo", "kto", "scored"])
@pytest.mark.parametrize("kind", MODELS)
def test_losses_and_gradients_are_those_of_the_plain_computation(kind, stage, treated_as_large):
    seed = [*MODELS].index(kind)
    loss, gradients = computed(kind, stage, seed)
    treated_as_large()
    fast, found = computed(kind, stage, seed)
    assert fast == pytest.approx(loss, rel=1e-5)
    size = torch.cat([g.flatten() for g in gradients]).norm()
    difference = torch.cat([(a - b).flatten() for a, b in zip(found, gradients, strict=True)])
    assert float(difference.norm() / size) < 1e-5


@pytest.mark.parametrize("stage", ["sft", "kto"])
def test_the_number_of_threads_changes_no_bit(stage, treated_as_large):
    treated_as_large()
    (loss, gradients), (other, others) = (computed("llama", stage, 0, threads=n) for n in (1, 2))
    assert loss == other
    assert all(torch.equal(a, b) for a, b in zip(gradients, others, strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_only_logits_with_a_label_are_computed(kind, treated_as_large):
    treated_as_large()
    _, model = adapted(kind)
    seen = []
    hook = model.get_output_embeddings().register_forward_hook(
        lambda module, args, output: seen.append(output.shape[:-1].numel())
    )
    made = CrossEntropy([Example([1, 2, 3, 4], [IGNORED] * 3 + [4])] * 5, padder(0, CPU))
    made.loss(model, range(5), None)
    hook.remove()
    assert seen == [5]


def test_layers_with_dropout_stay_with_peft_and_draw_the_same_in_every_training(treated_as_large):
    treated_as_large()
    losses = []
    for _ in range(2):
        base, model = adapted("llama", lora_dropout=0.5)
        speed_up_layers(model)
        assert not any("forward" in vars(layer) for layer in model.modules())
        with workers(2, CPU) as run, compute.global_rng(3, CPU):
            made = objective("sft", random.Random(0), base, model)
            update = Update(1.0, [list(range(len(made)))])
            losses.append(_Gradients(model, made, TrainingConfig(), 1, run).of(update)[0])
    assert losses[0] == losses[1]
