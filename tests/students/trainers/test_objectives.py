import math
import random
from typing import Any

import pytest
import torch

from dataenvgym.records import KTODatum, PreferenceDatum, ScoredDatum, SupervisedDatum
from dataenvgym.students.llama_factory import TrainingConfig, without_weights
from dataenvgym.students.trainers.compute import workers
from dataenvgym.students.trainers.examples import (
    judged_examples,
    padding_token,
    preference_examples,
    scored_examples,
    supervised_examples,
)
from dataenvgym.students.trainers.objectives import DPO, KTO, CrossEntropy, Objective, padder
from dataenvgym.students.trainers.scored import turn_discounts
from tests.students.trainings import spoken

CPU = torch.device("cpu")


def whole(objective: Objective, model: Any, batch: list[int], parts: int = 1) -> float:
    """The loss of one batch, computed in that many parts."""
    with workers(1, CPU) as run:
        context = objective.context(model, batch, run)
    (scale,) = objective.scales([batch])
    pieces = [batch[i::parts] for i in range(parts)]
    return scale * sum(float(objective.loss(model, piece, context)) for piece in pieces)


def log_probability(model: Any, tokens: list[int], labels: list[int]) -> float:
    """By the definition, without batching or padding."""
    logs = model(input_ids=torch.tensor([tokens])).logits[0].log_softmax(-1)
    return sum(float(logs[i - 1, t]) for i, t in enumerate(labels) if t != -100)


PREFERENCES = [
    PreferenceDatum(instruction="q", chosen="yes", rejected="no"),
    PreferenceDatum(instruction="a longer question", chosen="1", rejected="a longer answer"),
    PreferenceDatum(instruction="z", chosen="zzz", rejected="z"),
]
JUDGED = [
    KTODatum(instruction="q", output="yes", desirable=True),
    KTODatum(instruction="a longer question", output="a longer answer", desirable=False),
    KTODatum(instruction="z", output="zzz", desirable=True),
]


def test_the_supervised_loss_is_the_one_that_transformers_computes(model, tokenizer):
    records = [
        SupervisedDatum(instruction="q" * n, output="a" * (9 - n), history=(("h", "i"),))
        for n in (1, 5, 8)
    ]
    examples = supervised_examples(records, tokenizer, 60)
    pad = padder(padding_token(tokenizer), CPU)
    batch = pad(examples)
    expected = model(input_ids=batch.tokens, attention_mask=batch.mask, labels=batch.labels).loss
    objective = CrossEntropy(examples, pad)
    for parts in (1, 2, 3):
        assert whole(objective, model, [0, 1, 2], parts) == pytest.approx(float(expected), abs=1e-5)


def test_the_dpo_loss_follows_its_formula(model, other_model, tokenizer):
    config = TrainingConfig(pref_beta=0.7, pref_ftx=0.3)
    pairs = preference_examples(PREFERENCES, tokenizer, 60)
    with workers(2, CPU) as run:
        objective = DPO(pairs, config, padder(0, CPU), other_model, run)
    expected = 0.0
    for pair in pairs:
        sides = [pair.chosen, pair.rejected]
        own, other = (
            [log_probability(m, e.tokens, e.labels) for e in sides] for m in (model, other_model)
        )
        margin = (own[0] - other[0]) - (own[1] - other[1])
        n_chosen = sum(label != -100 for label in pair.chosen.labels)
        expected += math.log1p(math.exp(-0.7 * margin)) - 0.3 * own[0] / n_chosen
    for parts in (1, 2):
        assert whole(objective, model, [2, 0, 1], parts) == pytest.approx(expected / 3, abs=1e-4)


@pytest.mark.parametrize("swapped", [False, True])
def test_the_kto_loss_follows_its_formula(model, other_model, tokenizer, swapped):
    model, reference = (other_model, model) if swapped else (model, other_model)
    config = TrainingConfig(pref_beta=0.4, kto_chosen_weight=2.0, kto_rejected_weight=0.5)
    judged = judged_examples(JUDGED, tokenizer, 60)
    with workers(2, CPU) as run:
        objective = KTO(judged, config, padder(0, CPU), reference, run)

    def margin(example: Any) -> float:
        own, other = (
            log_probability(m, example.tokens, example.labels) for m in (model, reference)
        )
        return own - other

    kl = max(0.0, sum(margin(j.mismatched) for j in judged) / 3)
    expected = 0.0
    for j in judged:
        side = 1 if j.desirable else -1
        weight = 2.0 if j.desirable else 0.5
        expected += weight * (1 - 1 / (1 + math.exp(-0.4 * side * (margin(j.example) - kl))))
    for parts in (1, 3):
        assert whole(objective, model, [1, 2, 0], parts) == pytest.approx(expected / 3, abs=1e-4)


# --- segments ---


def test_dmpo_weighs_the_turns_of_random_dialogues_as_its_formula():
    """(1 - g^(n - t)) / (1 - g^n) for turn t of n, as `get_batch_logps_DMPO` of SDPO's code."""
    rng = random.Random(0)
    for _ in range(200):
        n_turns, discount = rng.randint(1, 6), rng.choice([0.1, 0.7, 0.9, 0.99])
        expected: list[float] = []  # of each token; 0 is not learned
        for t in range(n_turns):
            expected += [0.0] * rng.randint(1, 3)
            weight = (1 - discount ** (n_turns - t)) / (1 - discount**n_turns)
            expected += [weight] * rng.randint(1, 4)
        expected = expected[rng.randint(0, 1) :] + [0.0] * rng.randint(0, 2)
        learned = torch.tensor([expected, [0.0] * len(expected)]) != 0
        found = turn_discounts(learned, discount) * learned
        assert found[0].tolist() == pytest.approx(expected, abs=1e-5)  # of float32
        assert found[1].tolist() == [0.0] * len(expected)


def dialogue(weight: float, *turns: str) -> ScoredDatum:
    return ScoredDatum(messages=spoken(*turns), weights=(weight,) * (len(turns) // 2), system="s")


GOOD = dialogue(1.0, "q", "yes", "and?", "a longer answer", "so?", "1")
BAD = dialogue(0.0, "q", "no", "why?", "z", "?", "zzzz", "!", "more")
WHOLE = PreferenceDatum(
    messages=GOOD.messages[:1], system="s", chosen=GOOD.messages[1:], rejected=BAD.messages[1:]
)


@pytest.mark.parametrize("discount", [None, 0.7])
@pytest.mark.parametrize(("segment", "n"), [(1, 1), (2, 2), ("tail", 3), (None, 4)])
def test_the_loss_of_a_segment_sums_over_its_turns(
    model, other_model, tokenizer, segment, n, discount
):
    """From the first turn on to the end of the shorter dialogue: ETO; whole dialogues: DMPO."""
    config = TrainingConfig(pref_beta=0.7, pref_discount=discount)
    records: Any = without_weights([GOOD, BAD], "dpo", segment=segment) if segment else [WHOLE]
    with workers(1, CPU) as run:
        pairs = preference_examples(records, tokenizer, 200)
        objective = DPO(pairs, config, padder(0, CPU), other_model, run)

    def margin(record: ScoredDatum) -> float:
        """log p - log of the reference over the first turns, from the whole conversation."""
        (scored,) = scored_examples([record], tokenizer, 200)
        learned = iter(i for i, label in enumerate(scored.example.labels) if label != -100)
        lengths, total = scored.lengths[:n], 0.0
        for left, length in zip(range(len(lengths), 0, -1), lengths, strict=True):
            places = {next(learned) for _ in range(length)}
            labels = [t if i in places else -100 for i, t in enumerate(scored.example.labels)]
            logs = (log_probability(m, scored.example.tokens, labels) for m in (model, other_model))
            share = (1 - discount**left) / (1 - discount ** len(lengths)) if discount else 1.0
            total += share * (next(logs) - next(logs))
        return total

    expected = math.log1p(math.exp(-0.7 * (margin(GOOD) - margin(BAD))))
    assert whole(objective, model, [0]) == pytest.approx(expected, abs=1e-4)


def test_a_segment_is_cut_at_the_same_turn_on_both_sides(tokenizer):
    def texts(cutoff: int) -> list[str]:
        (pair,) = preference_examples(records, tokenizer, cutoff)
        return [tokenizer.decode(side.tokens) for side in (pair.chosen, pair.rejected)]

    records: Any = without_weights([GOOD, BAD], "dpo", segment=2)
    better, worse = texts(200)
    assert better.endswith("and?<|end|><|assistant|>a longer answer<|end|>")
    assert worse.endswith("why?<|end|><|assistant|>z<|end|>")
    longest = len(tokenizer(better, add_special_tokens=False)["input_ids"])
    better, worse = texts(longest - 1)
    assert better.endswith("<|assistant|>yes<|end|>")
    assert worse.endswith("<|assistant|>no<|end|>")
