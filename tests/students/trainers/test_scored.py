"""The objective of scored records."""

import math
import random
from typing import Any

import pytest
import torch

from dataenvgym.records import ScoredDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import IGNORED, Example, Scored, scored_examples
from dataenvgym.students.trainers.objectives import ScoredTurns, padder
from dataenvgym.students.trainers.scored import ScoredLoss
from tests.students.trainings import spoken

CPU = torch.device("cpu")


def dialogue(*turns: str, weights: tuple[float | None, ...], system: str = "") -> ScoredDatum:
    return ScoredDatum(messages=spoken(*turns), weights=weights, system=system)


DIALOGUES = [
    dialogue("q", "yes", "and?", "a longer answer", weights=(0.7, -0.4)),
    dialogue("a longer question", "no", weights=(1.0,)),
    dialogue("z", "zz", "y", "y", "x", "xxxxx", weights=(-1.0, None, 0.2), system="s"),
]


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


# --- the loss of tokens ---


@pytest.mark.parametrize("seed", range(20))
def test_random_tokens_have_the_loss_and_gradient_of_verl(seed):
    """Its dual-clip policy loss, token-mean, with its `low_var_kl`, from the published formulas."""
    rng, n = random.Random(seed), 200
    torch.manual_seed(seed)
    weights, is_scored = torch.randn(n) * 2, torch.rand(n) < 0.8
    sampled, base = torch.rand(2, n).log()
    logs = (sampled + torch.randn(n)).requires_grad_()
    high, dual, kl = rng.choice((None, 0.28)), rng.choice((None, 1.5)), rng.choice((None, 0.1))
    ratio = torch.exp(logs - sampled)
    losses = torch.max(-weights * ratio, -weights * torch.clamp(ratio, 0.8, 1 + (high or 0.2)))
    if dual:
        losses = torch.where(weights < 0, torch.min(losses, -weights * dual), losses)
    losses = losses + (kl or 0.0) * (torch.exp(base - logs) - (base - logs) - 1)
    expected = (losses * is_scored).sum() / n
    loss = ScoredLoss(reduction="token_mean", clip=0.2, clip_high=high, clip_dual=dual, kl=kl)
    known = [float(w) if k else None for w, k in zip(weights, is_scored, strict=True)]
    total = loss.summed(logs, *loss.of_turns(known, [1] * n), sampled, base) / loss.divisor(2, n)
    assert torch.allclose(total, expected, atol=1e-5)
    mine, theirs = (torch.autograd.grad(each, logs)[0] for each in (total, expected))
    assert torch.allclose(mine, theirs, atol=1e-6)


def test_the_base_for_the_penalty_may_be_another_model(model, other_model, tokenizer):
    scored = scored_examples(DIALOGUES, tokenizer, 200)
    still, moved = (
        objective(scored, model, base=base, scored_kl=1.0) for base in (None, other_model)
    )
    plain = objective(scored, model)
    assert loss(still, model, [0, 1, 2]) == pytest.approx(loss(plain, model, [0, 1, 2]), abs=1e-5)
    assert loss(moved, model, [0, 1, 2]) > loss(still, model, [0, 1, 2]) + 1e-3


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
