"""The objective of scored records."""

import math
import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dataenvgym.records import Message, ScoredDatum, Tool, ToolCall
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import IGNORED, Example, Scored, scored_examples
from dataenvgym.students.trainers.objectives import CrossEntropy, ScoredTurns, padder
from dataenvgym.students.trainers.scored import ScoredLoss

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


def objective(scored: list[Scored], model: Any, base: Any = None, **options: Any) -> ScoredTurns:
    with workers(2, CPU) as run:
        return ScoredTurns(scored, TrainingConfig(**options), padder(0, CPU), model, run, base)


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


# --- the loss of tokens ---

GROUP_RELATIVE = {
    "reduction": "token_mean", "clip": 0.2, "clip_high": 0.28, "clip_dual": 10.0, "kl": 1e-4,
}  # fmt: skip


def of_two_tokens(weights: tuple[float, float], ratios: tuple[float, float], **options: Any) -> Any:
    """The loss of two turns of one token each, of which one half was likely, and its gradient."""
    loss = ScoredLoss(**options)
    logs = torch.tensor(ratios).mul(0.5).log().requires_grad_()
    sampled = torch.tensor([0.5, 0.5]).log()
    total = loss.summed(logs, *loss.of_turns(weights, [1, 1]), sampled, sampled)
    total = total / loss.divisor(1, 2)
    (gradient,) = torch.autograd.grad(total, [logs])
    return float(total.detach()), gradient.tolist()


def test_two_tokens_by_hand():
    options = {**GROUP_RELATIVE, "kl": None}
    # at sampling time r = 1: -(2 * 1 - 1 * 1) / 2 = -.5; d/dlog p = -w r / 2
    assert of_two_tokens((2.0, -1.0), (1.0, 1.0), **options) == (-0.5, [-1.0, 0.5])
    # r = 1.25 < 1.28 and r = .9 > .8: -(2 * 1.25 - .9) / 2 = -.8, with -w r / 2
    total, gradient = of_two_tokens((2.0, -1.0), (1.25, 0.9), **options)
    assert total == pytest.approx(-0.8)
    assert gradient == pytest.approx([-1.25, 0.45])
    # r = 1.5 > 1.28 and r = .7 < .8: -(2 * 1.28 - .8) / 2 = -.88, and nothing more is learned
    assert of_two_tokens((2.0, -1.0), (1.5, 0.7), **options) == (pytest.approx(-0.88), [0.0, 0.0])
    # symmetric: 1.25 > 1.2: -(2 * 1.2 - .9) / 2 = -.75
    total, gradient = of_two_tokens((2.0, -1.0), (1.25, 0.9), clip=0.2)
    assert (total, gradient) == (pytest.approx(-0.75), [0.0, pytest.approx(0.45)])


def test_the_dual_bound_ends_what_a_bad_token_costs():
    # w = -1 and r = 1.9 costs 1.9, but 1.5 if the bound is 1.5; a good token has no such bound
    one = {"reduction": "token_mean", "clip": 0.2}
    assert of_two_tokens((0.0, -1.0), (1.0, 1.9), **one) == (
        pytest.approx(0.95),
        pytest.approx([0.0, 0.95]),
    )
    bounded = of_two_tokens((0.0, -1.0), (1.0, 1.9), **one, clip_dual=1.5)
    assert bounded == (pytest.approx(0.75), [0.0, 0.0])
    assert of_two_tokens((1.0, 0.0), (1.9, 1.0), **one, clip_dual=1.1)[0] == pytest.approx(-0.6)


def test_the_penalty_of_two_tokens_by_hand():
    # p = .25 and base .5: x = log 2, e^x - x - 1 = .30685; of p = .5: 0. (.5 / 2) * .30685
    total, gradient = of_two_tokens((0.0, 0.0), (0.5, 1.0), reduction="token_mean", kl=0.5)
    assert total == pytest.approx(0.076713, abs=1e-6)
    # d/dlog p of e^(b - l) - (b - l) - 1 is 1 - e^x = -1, here by .25
    assert gradient == pytest.approx([-0.25, 0.0])
    # a turn that was not scored teaches nothing
    total, gradient = of_two_tokens((None, 0.0), (0.5, 1.0), reduction="token_mean", kl=0.5)
    assert (total, gradient) == (0.0, [0.0, 0.0])


def test_random_tokens_have_the_loss_of_verl():
    """Its dual-clip policy loss, token-mean, with its `low_var_kl`, from the published formulas."""
    torch.manual_seed(0)
    n, half = 200, 100
    weights = torch.randn(n) * 2
    sampled, base = torch.rand(2, n).log()
    logs = sampled + torch.randn(n)
    ratio = torch.exp(logs - sampled)
    losses = torch.max(-weights * ratio, -weights * torch.clamp(ratio, 0.8, 1.28))
    losses = torch.where(weights < 0, torch.min(losses, -weights * 10.0), losses)
    losses = losses + 1e-4 * (torch.exp(base - logs) - (base - logs) - 1)
    loss = ScoredLoss(**GROUP_RELATIVE)
    tokens = [loss.of_turns([float(w) for w in row], [1] * half) for row in weights.chunk(2)]
    of_tokens, shares = (torch.cat(each) for each in zip(*tokens, strict=True))
    total = loss.summed(logs, of_tokens, shares, sampled, base) / loss.divisor(2, n)
    assert float(total) == pytest.approx(float(losses.mean()), abs=1e-5)


def test_by_token_mean_a_longer_turn_counts_more():
    # 1 and 3 tokens of weights 1 and .5, each 1.38629: (1 + 3 * .5) / 4 * 1.38629 = .86643
    scored = [uniform_turns([1.0], [1]), uniform_turns([0.5], [3])]
    of = objective(scored, Uniform(), scored_reduction="token_mean")
    assert loss(of, Uniform(), [0, 1]) == pytest.approx(0.86643, abs=1e-5)
    assert loss(of, Uniform(), [0], [1]) == pytest.approx(0.86643, abs=1e-5)  # one update


def test_by_token_mean_weights_of_1_are_supervised_learning(model, tokenizer):
    ones = [d.model_copy(update={"weights": (1.0,) * len(d.weights)}) for d in DIALOGUES]
    scored = scored_examples(ones, tokenizer, 200)
    of = objective(scored, model, scored_reduction="token_mean")
    plain = CrossEntropy([one.example for one in scored], padder(0, CPU))
    (scale,) = plain.scales([[0, 1, 2]])
    expected = scale * float(plain.loss(model, [0, 1, 2], None))
    assert loss(of, model, [0, 1, 2]) == pytest.approx(expected, abs=1e-5)


def test_the_base_for_the_penalty_may_be_another_model(model, other_model, tokenizer):
    scored = scored_examples(DIALOGUES, tokenizer, 200)
    still, moved = (
        objective(scored, model, base=base, scored_kl=1.0) for base in (None, other_model)
    )
    plain = objective(scored, model)
    assert loss(still, model, [0, 1, 2]) == pytest.approx(loss(plain, model, [0, 1, 2]), abs=1e-5)
    assert loss(moved, model, [0, 1, 2]) > loss(still, model, [0, 1, 2]) + 1e-3


def test_the_sum_is_the_reward_weighted_loss_of_epo(model, tokenizer):
    """EPO's code finds a turn as a run of labels, and divides by its length and their number."""
    scored = scored_examples([DIALOGUES[0], DIALOGUES[1]], tokenizer, 200)
    expected = 0.0
    for one in scored:
        rows = model(input_ids=torch.tensor([one.example.tokens])).logits[0].log_softmax(-1)
        runs: list[list[float]] = []
        for i, label in enumerate(one.example.labels):
            if label == IGNORED:
                continue
            if one.example.labels[i - 1] == IGNORED:
                runs.append([])
            runs[-1].append(float(rows[i - 1, label]))
        turns = zip(one.weights, runs, strict=True)
        expected -= sum(w * sum(run) / len(run) for w, run in turns) / len(runs)
    of = objective(scored, model, scored_reduction="sum")
    assert loss(of, model, [0, 1]) == pytest.approx(expected, abs=1e-4)


def test_random_dialogues_have_the_reward_weighted_loss_of_epo():
    """Its formula, from any logits, for 200 batches with padding; ours is the sum over a batch.

    Its trainer divides by the accumulated batches, and by the GPUs: at batch 1, that is our mean.
    """
    rng = random.Random(0)
    torch.manual_seed(0)
    loss = ScoredLoss(reduction="sum")
    for _ in range(200):
        expected, found = 0.0, []
        for _ in range(rng.randint(1, 3)):
            n_turns = rng.randint(1, 5)
            weights = [rng.uniform(-1, 1) for _ in range(n_turns)]
            labels: list[int] = []
            lengths = []
            for _ in range(n_turns):
                lengths.append(rng.randint(1, 6))
                labels += [IGNORED] * rng.randint(1, 4)
                labels += [rng.randrange(9) for _ in range(lengths[-1])]
            labels += [IGNORED] * rng.randint(0, 4)
            logs = torch.randn(len(labels), 9).log_softmax(-1)
            # each label is predicted from the token before it
            mask = torch.tensor([float(label != IGNORED) for label in labels[1:]])
            each = torch.tensor([float(logs[i, max(y, 0)]) for i, y in enumerate(labels[1:])])
            start, turn = None, 0
            for place in range(len(mask) + 1):
                inside = place < len(mask) and labels[place + 1] != IGNORED
                if inside and start is None:
                    start = place
                if not inside and start is not None:
                    mask[start:place] *= weights[turn] / (place - start)
                    start, turn = None, turn + 1
            expected -= float((each * mask).sum()) / n_turns
            own = each[torch.tensor(labels[1:]) != IGNORED]
            found.append(loss.summed(own, *loss.of_turns(weights, lengths)))
        assert float(sum(found)) / loss.divisor(len(found), 0) == pytest.approx(expected, abs=1e-4)


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
