"""The objective of scored records."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.records import Message, ScoredDatum, Tool, ToolCall
from dataenvgym.trainers.compute import workers
from dataenvgym.trainers.examples import IGNORED, Example, Scored, scored_examples
from dataenvgym.trainers.objectives import padder
from dataenvgym.trainers.scored import ScoredTurns

CPU = torch.device("cpu")


def dialogue(*turns: str, weights: tuple[float | None, ...], system: str = "") -> ScoredDatum:
    messages = tuple(
        Message(role="assistant" if i % 2 else "user", content=text) for i, text in enumerate(turns)
    )
    return ScoredDatum(messages=messages, weights=weights, system=system)


DIALOGUES = [
    dialogue("q", "yes", "and?", "a longer answer", weights=(0.7, -0.4)),
    dialogue("a longer question", "no", weights=(1.0,)),
    dialogue("z", "zz", "y", "y", "x", "xxxxx", weights=(-1.0, None, 0.2), system="s"),
]


class Uniform:
    """A student to which each of four tokens is as likely as the others."""

    device = CPU

    def __call__(self, input_ids: torch.Tensor, **_: Any) -> Any:
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, 4))

    def parameters(self) -> list[torch.Tensor]:
        return []


def objective(scored: list[Scored], model: Any, **options: Any) -> ScoredTurns:
    with workers(2, CPU) as run:
        return ScoredTurns(scored, TrainingConfig(**options), padder(0, CPU), model, run)


def loss(of: ScoredTurns, model: Any, *batches: list[int], parts: int = 1) -> float:
    """The loss of an update of those batches, each computed in that many parts."""
    pieces = [
        (scale, batch[i::parts])
        for scale, batch in zip(of.scales(batches), batches, strict=True)
        for i in range(parts)
        if batch[i::parts]
    ]
    return sum(scale * float(of.loss(model, piece, None)) for scale, piece in pieces)


def uniform_turns(weights: list[float | None], lengths: list[int]) -> Scored:
    labels = [label for n in lengths for label in (IGNORED, IGNORED, *[1] * n)]
    return Scored(Example([1] * len(labels), labels), weights, lengths)


# Each token has log p = -log 4 = -1.38629, and so has the mean of a turn, however long it is.
# weights [1, .5]: -(1/2) (1 + .5) (-1.38629) = .75 * 1.38629 = 1.03972
# weights [1, 0] and [1, null]: -(1/2) * 1 * (-1.38629) = .69315
# weights [1, -1]: 0; weights [-2]: -(1/1) (-2) (-1.38629) = -2.77259
@pytest.mark.parametrize("lengths", [[1, 1], [1, 9], [9, 1], [5, 3]])
@pytest.mark.parametrize(
    ("weights", "expected"),
    [([1.0, 0.5], 1.03972), ([1.0, 0.0], 0.69315), ([1.0, None], 0.69315), ([1.0, -1.0], 0.0)],
)
def test_each_turn_counts_equally_regardless_of_its_length(weights, expected, lengths):
    of = objective([uniform_turns(weights, lengths)], Uniform())
    assert loss(of, Uniform(), [0]) == pytest.approx(expected, abs=1e-5)


def test_a_negative_weight_makes_a_turn_less_likely():
    of = objective([uniform_turns([-2.0], [3])], Uniform())
    assert loss(of, Uniform(), [0]) == pytest.approx(-2.77259, abs=1e-5)


def test_a_batch_has_the_mean_of_its_losses_or_their_sum():
    scored = [uniform_turns([1.0, 0.5], [2, 3]), uniform_turns([1.0, 0.0], [1, 4])]
    mean, total = (objective(scored, Uniform(), scored_reduction=r) for r in ("mean", "sum"))
    assert loss(mean, Uniform(), [0, 1]) == pytest.approx((1.03972 + 0.69315) / 2, abs=1e-5)
    assert loss(total, Uniform(), [0, 1]) == pytest.approx(1.03972 + 0.69315, abs=1e-5)


def by_the_formula(model: Any, scored: Scored, sampled: Any = None, clip: float = 0.0) -> float:
    """By the definition, without batching or padding."""

    def logs(of: Any) -> list[float]:
        tokens = scored.example.tokens
        rows = of(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
        labels = enumerate(scored.example.labels)
        return [float(rows[i - 1, t]) for i, t in labels if t != IGNORED]

    own = iter(logs(model))
    then = iter(logs(sampled if sampled is not None else model))
    total = 0.0
    for weight, n in zip(scored.weights, scored.lengths, strict=True):
        gains = []
        for _ in range(n):
            log, before = next(own), next(then)
            if clip:
                r = math.exp(log - before)
                w = weight or 0.0
                gains.append(min(w * r, w * min(max(r, 1 - clip), 1 + clip)))
            else:
                gains.append((weight or 0.0) * log)
        total += sum(gains) / n
    return -total / len(scored.weights)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_neither_parts_nor_accumulation_change_the_loss(model, tokenizer, reduction):
    scored = scored_examples(DIALOGUES, tokenizer, 200)
    of = objective(scored, model, scored_reduction=reduction)
    expected = sum(by_the_formula(model, s) for s in scored) / (3 if reduction == "mean" else 1)
    for parts in (1, 2, 3):
        assert loss(of, model, [2, 0, 1], parts=parts) == pytest.approx(expected, abs=1e-5)
    assert loss(of, model, [1, 2], [0]) == pytest.approx(expected, abs=1e-5)


def test_the_clipped_loss_follows_its_formula(model, other_model, tokenizer):
    scored = scored_examples(DIALOGUES, tokenizer, 200)
    of = objective(scored, other_model, scored_clip=0.2)
    for batch in ([0], [1], [2]):
        expected = by_the_formula(model, scored[batch[0]], other_model, 0.2)
        assert loss(of, model, batch) == pytest.approx(expected, abs=1e-4)
    whole = sum(by_the_formula(model, s, other_model, 0.2) for s in scored) / 3
    assert loss(of, model, [2, 0, 1], parts=2) == pytest.approx(whole, abs=1e-4)


def gradient_at_zero(clip: float | None, shift: float) -> float:
    """d loss / d logit of the learned token, for a student moved by `shift` since sampling."""
    moved = torch.tensor(shift, requires_grad=True)

    class Moved(Uniform):
        def __call__(self, input_ids: torch.Tensor, **_: Any) -> Any:
            logits = torch.zeros(*input_ids.shape, 4)
            logits = logits + moved * torch.tensor([0.0, 1.0, 0.0, 0.0])
            return SimpleNamespace(logits=logits)

    of = objective([uniform_turns([1.0], [2])], Uniform(), scored_clip=clip)
    (gradient,) = torch.autograd.grad(of.loss(Moved(), [0], None), [moved])
    return float(gradient)


def test_at_sampling_time_the_clipped_gradient_is_the_plain_one():
    # d log p / d logit = 1 - p = .75
    assert gradient_at_zero(None, 0.0) == pytest.approx(-0.75, abs=1e-5)
    assert gradient_at_zero(0.2, 0.0) == pytest.approx(-0.75, abs=1e-5)


def test_beyond_the_clip_nothing_more_is_learned():
    # a logit of .5 gives p = e^.5 / (e^.5 + 3) = .3547, a ratio of 1.419 > 1.2
    assert gradient_at_zero(0.2, 0.5) == 0.0
    assert gradient_at_zero(0.5, 0.5) < 0.0  # ... and 1.419 < 1.5
    assert gradient_at_zero(0.2, -2.0) < 0.0  # too unlikely a good turn is still drawn back


# --- examples ---


def learned(scored: Scored, tokenizer: Any) -> list[str]:
    """The learned text of each turn."""
    labels = iter(label for label in scored.example.labels if label != IGNORED)
    return [tokenizer.decode([next(labels) for _ in range(n)]) for n in scored.lengths]


def test_every_reply_and_its_end_are_learned_by_their_weight(tokenizer):
    (scored,) = scored_examples([DIALOGUES[2]], tokenizer, 200)
    assert learned(scored, tokenizer) == ["zz<|end|>", "y<|end|>", "xxxxx<|end|>"]
    assert scored.weights == [-1.0, None, 0.2]
    assert tokenizer.decode(scored.example.tokens) == (
        "<|system|>s<|end|><|user|>z<|end|><|assistant|>zz<|end|><|user|>y<|end|><|assistant|>y"
        "<|end|><|user|>x<|end|><|assistant|>xxxxx<|end|>"
    )


def test_a_turn_that_is_cut_takes_its_weight_with_it(model, tokenizer):
    whole, *_ = scored_examples(DIALOGUES, tokenizer, 200)
    room = len(whole.example.tokens) - 1
    (cut,) = scored_examples(DIALOGUES[:1], tokenizer, room)
    assert learned(cut, tokenizer) == ["yes<|end|>"]
    assert cut.weights == [0.7]
    alone = dialogue("q", "yes", weights=(0.7,))  # K is 1 now
    assert scored_examples([alone], tokenizer, 200) == [cut]
    of = objective([cut], model)
    assert loss(of, model, [0]) == pytest.approx(by_the_formula(model, cut), abs=1e-5)


def test_a_record_whose_first_turn_does_not_fit_keeps_none(tokenizer):
    (scored,) = scored_examples([DIALOGUES[1]], tokenizer, 5)
    assert (scored.weights, scored.lengths, scored.example) == ([], [], Example([], []))


def test_a_call_of_a_tool_is_a_turn_like_others(tokenizer):
    record = ScoredDatum(
        messages=(
            Message(role="user", content="a"),
            Message(role="assistant", content="", tool_calls=(ToolCall(name="f"),)),
            Message(role="tool", content="1"),
            Message(role="assistant", content="b"),
        ),
        tools=(Tool(name="f"),),
        weights=(None, 1.0),
    )
    (scored,) = scored_examples([record], tokenizer, 2000)
    assert learned(scored, tokenizer) == ["Action: f\nAction Input: {}<|end|>", "b<|end|>"]
