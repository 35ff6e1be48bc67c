from typing import Any

from dataenvgym.records import (
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TextDatum,
)
from dataenvgym.students.trainers.examples import (
    IGNORED,
    Example,
    judged_examples,
    preference_examples,
    supervised_examples,
    text_examples,
)


def learned(example: Example, tokenizer: Any) -> str:
    assert len(example.tokens) == len(example.labels)
    assert all(
        label in (IGNORED, t) for t, label in zip(example.tokens, example.labels, strict=True)
    )
    return str(tokenizer.decode([label for label in example.labels if label != IGNORED]))


def test_long_conversations_are_cut_turn_by_turn(tokenizer):
    record = SupervisedDatum(instruction="b" * 20, output="B" * 20, history=(("a", "A"),))
    (example,) = supervised_examples([record], tokenizer, 20)
    assert len(example.tokens) == 20
    assert tokenizer.decode(example.tokens).startswith("<|user|>a<|end|><|assistant|>A<|end|>")
    assert learned(example, tokenizer).startswith("A<|end|>BBB")


def test_the_longer_side_decides_where_a_pair_is_cut(tokenizer):
    record = PreferenceDatum(instruction="q" * 30, chosen="y", rejected="n" * 9)
    (pair,) = preference_examples([record], tokenizer, 24)
    assert len(pair.rejected.tokens) == 24
    assert learned(pair.rejected, tokenizer) == "n" * 9 + "<|end|>"
    assert pair.chosen.labels.count(IGNORED) == pair.rejected.labels.count(IGNORED) == 14


def test_a_judged_answer_is_compared_with_the_one_of_the_record_before(tokenizer):
    records = [KTODatum(instruction=f"q{i}", output=f"a{i}", desirable=i == 1) for i in range(3)]
    judged = judged_examples(records, tokenizer, 100)
    assert [learned(j.example, tokenizer) for j in judged] == [f"a{i}<|end|>" for i in range(3)]
    assert [learned(j.mismatched, tokenizer) for j in judged] == [f"a{i}<|end|>" for i in (2, 0, 1)]
    assert (
        tokenizer.decode(judged[1].mismatched.tokens) == "<|user|>q1<|end|><|assistant|>a0<|end|>"
    )
    assert [j.desirable for j in judged] == [False, True, False]


def test_packed_texts_fill_blocks_and_the_remainder_is_left_out(tokenizer):
    records = [TextDatum(text="abc"), TextDatum(text="de"), TextDatum(text="fg")]
    blocks = text_examples(records, tokenizer, 5, packing=True)
    assert [tokenizer.decode(block.tokens) for block in blocks] == [
        "abc<|end|>d",
        "e<|end|>fg<|end|>",
    ]
    assert text_examples(records, tokenizer, 11, packing=True) == []


def test_where_padding_and_the_end_are_one_token_texts_do_not_learn_it(tokenizer):
    tokenizer.pad_token = tokenizer.eos_token
    (example,) = text_examples([TextDatum(text="x")], tokenizer, 9, packing=False)
    assert learned(example, tokenizer) == "x"
