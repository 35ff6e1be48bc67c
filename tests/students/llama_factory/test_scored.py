"""Scored records for stages that know no weights."""

from statistics import fmean

import numpy as np
import pytest

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    Provenance,
    ScoredDatum,
    SupervisedDatum,
    Tool,
    ToolCall,
)
from dataenvgym.students.llama_factory import without_weights
from tests.students.trainings import spoken


def dialogue(*turns: str, weights: tuple[float | None, ...], name: str = "") -> ScoredDatum:
    return ScoredDatum(
        messages=spoken(*turns), weights=weights, system="s", provenance=Provenance(id=name)
    )


def ids(records) -> list[str]:
    return [record.provenance.id for record in records]


def test_dialogues_with_a_high_mean_weight_are_learned_whole():
    records = [
        dialogue("a", "A", "b", "B", weights=(1.0, 0.0), name="mean .5"),
        dialogue("a", "A", "b", "B", weights=(0.9, 0.0), name="mean .45"),
        dialogue("a", "A", "b", "B", weights=(0.6, None), name="mean .6 of one"),
        dialogue("a", "A", weights=(None,), name="none"),
    ]
    found = without_weights(records, "sft")
    assert ids(found) == ["mean .5", "mean .6 of one"]
    assert found[0] == ChatDatum(
        messages=records[0].messages, system="s", provenance=records[0].provenance
    )
    assert ids(without_weights(records, "sft", threshold=0.55)) == ["mean .6 of one"]


def test_each_turn_is_judged_by_the_sign_of_its_weight():
    record = dialogue("a", "A", "b", "B", "c", "C", "d", "D", weights=(0.2, -0.1, 0.0, None))
    first, second = without_weights([record], "kto")
    assert first == KTODatum(instruction="a", output="A", desirable=True, system="s")
    assert second == KTODatum(
        instruction="b", output="B", desirable=False, system="s", history=(("a", "A"),)
    )


def test_turns_with_tools_are_judged_as_the_student_has_them():
    record = ScoredDatum(
        messages=(
            Message(role="user", content="q"),
            Message(role="assistant", content="", tool_calls=(ToolCall(name="f"),)),
            Message(role="tool", content="7"),
            Message(role="assistant", content="seven"),
        ),
        tools=(Tool(name="f"),),
        weights=(1.0, -1.0),
    )
    call, answer = without_weights([record], "kto")
    assert (call.output, call.desirable) == ("Action: f\nAction Input: {}", True)
    assert call.system == answer.system
    assert "Tool Name: f" in call.system
    assert answer.history == (("q", "Action: f\nAction Input: {}"),)
    assert (answer.instruction, answer.output, answer.desirable) == ("7", "seven", False)


def test_a_pair_is_two_replies_to_the_same_beginning():
    good = dialogue("a", "A", "b", "B", "c", "C", weights=(0.9, 0.8, 0.7), name="good")
    bad = dialogue("a", "A", "b", "X", "c", "C", weights=(0.1, 0.2, 0.9), name="bad")
    (pair,) = without_weights([bad, good], "dpo")  # "A" is the same; "C" answers another dialogue
    assert pair == PreferenceDatum(
        messages=good.messages[:3], system="s", chosen="B", rejected="X", provenance=good.provenance
    )


def test_each_reply_is_in_one_pair_at_most_the_best_with_the_worst():
    weights = {"A": 3, "B": 1, "C": 5, "D": 2, "E": 4}
    records = [dialogue("a", text, weights=(weight,)) for text, weight in weights.items()]
    pairs = [(p.chosen, p.rejected) for p in without_weights(records, "dpo")]
    assert pairs == [("C", "B"), ("E", "D")]


@pytest.mark.parametrize(
    "others",
    [
        dialogue("a", "B", weights=(1.0,)),  # as good
        dialogue("a", "B", weights=(None,)),  # not scored
        dialogue("a", "", weights=(0.0,)),  # nothing said
        dialogue("b", "B", weights=(0.0,)),  # another beginning
        dialogue("a", "B", weights=(0.0,)).model_copy(update={"system": "t"}),
        dialogue("a", "B", weights=(0.0,)).model_copy(update={"tools": (Tool(name="f"),)}),
    ],
)
def test_without_two_comparable_replies_there_is_no_pair(others):
    assert without_weights([dialogue("a", "A", weights=(1.0,)), others], "dpo") == []


@pytest.mark.parametrize("scored_as", ["sft", "kto", "dpo"])
def test_other_records_stay_as_they_are(scored_as):
    other = SupervisedDatum(instruction="q", output="a")
    assert without_weights([other], scored_as) == [other]


def turns(answer) -> list[str]:
    return [message.content for message in answer]


GOOD = dialogue("a", "A", "b", "B", "c", "C", "d", "D", weights=(0.5, 0.9, 0.8, 0.7), name="good")
BAD = dialogue("a", "A", "b", "X", "y", "Y", weights=(0.5, 0.1, 0.2))


@pytest.mark.parametrize(
    ("segment", "chosen", "rejected"),
    [
        (1, ["B"], ["X"]),
        (2, ["B", "c", "C"], ["X", "y", "Y"]),
        (9, ["B", "c", "C"], ["X", "y", "Y"]),
        ("tail", ["B", "c", "C"], ["X", "y", "Y"]),
    ],
)
def test_a_segment_has_as_many_turns_on_both_sides(segment, chosen, rejected):
    (pair,) = without_weights([BAD, GOOD], "dpo", segment=segment)
    assert [turns(answer) for answer in pair.segments] == [chosen, rejected]
    assert turns(pair.messages) == ["a", "A", "b"]


def test_a_segment_ends_before_an_empty_reply():
    silent = dialogue("a", "A", "b", "X", "y", "", weights=(0.5, 0.1, 0.2))
    (pair,) = without_weights([silent, GOOD], "dpo", segment="tail")
    assert [turns(answer) for answer in pair.segments] == [["B"], ["X"]]


def test_a_tail_has_the_value_of_its_own_dialogue():
    # two dialogues begin with X; the one that ends in an insult is worth 0
    insult = dialogue("80?", "X", "70?", "I insult you.", weights=(0.0, None))
    deal = dialogue("80?", "X", "70?", "Deal.", weights=(1.0, None))
    middle = dialogue("80?", "Y", "75?", "Fine.", weights=(0.4, None))
    for order in ([insult, deal, middle], [deal, middle, insult]):
        (pair,) = without_weights(order, "dpo", segment="tail")
        assert [turns(answer)[-1] for answer in pair.segments] == ["Deal.", "Fine."]
        (pair,) = without_weights(order, "dpo")  # of one turn: X is worth .5 in the mean
        assert (pair.chosen, pair.rejected) == ("X", "Y")


@pytest.mark.parametrize("segment", [1, 2, 3, "tail"])
def test_no_pair_of_random_dialogues_is_inverted_or_equal(segment):
    rng = np.random.default_rng(0)
    n_pairs = 0
    for _ in range(200):
        records = []
        for _ in range(int(rng.integers(2, 7))):
            said = [str(w) for w in rng.integers(0, 3, size=int(rng.integers(1, 4)))]
            weights = [float(rng.integers(0, 4)) / 3] + [None] * (len(said) - 1)
            texts = [text for turn in said for text in ("?", turn)]
            records.append(dialogue(*texts, weights=tuple(weights)))
        by_tail: dict[tuple[str, ...], list[float]] = {}
        for record in records:
            tail = turns(record.messages[1:])[::2]
            by_tail.setdefault(tuple(tail if segment == "tail" else tail[:segment]), []).append(
                record.weights[0]
            )
        # of tails cut to the same length, several may have been the tail
        values = {tail: fmean(weights) for tail, weights in by_tail.items()}
        for pair in without_weights(records, "dpo", segment=segment):
            chosen, rejected = (tuple(turns(answer)[::2]) for answer in pair.segments)
            best, worst = (
                [value for tail, value in values.items() if tail[: len(side)] == side]
                for side in (chosen, rejected)
            )
            assert chosen[0] != rejected[0]
            assert max(best) > min(worst)
            n_pairs += 1
            if segment == 1 or (
                chosen in values and rejected in values and len(best) == len(worst) == 1
            ):
                assert values[chosen] > values[rejected]
    assert n_pairs > 100
