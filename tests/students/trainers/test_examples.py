from typing import Any

import pytest

from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TextDatum,
)
from dataenvgym.students.trainers.examples import (
    IGNORED,
    Example,
    judged_examples,
    preference_examples,
    shared_room,
    supervised_examples,
    text_examples,
)


def learned(example: Example, tokenizer: Any) -> str:
    assert len(example.tokens) == len(example.labels)
    assert all(
        label in (IGNORED, t) for t, label in zip(example.tokens, example.labels, strict=True)
    )
    return str(tokenizer.decode([label for label in example.labels if label != IGNORED]))


def test_only_the_reply_and_its_end_are_learned(tokenizer):
    record = SupervisedDatum(instruction="1+1", input="=", output="2", system="s")
    (example,) = supervised_examples([record], tokenizer, 100)
    assert tokenizer.decode(example.tokens) == (
        "<|system|>s<|end|><|user|>1+1\n=<|end|><|assistant|>2<|end|>"
    )
    assert learned(example, tokenizer) == "2<|end|>"


def test_every_reply_of_a_conversation_is_learned(tokenizer):
    chat = ChatDatum(
        messages=(
            Message(role="user", content="a"),
            Message(role="assistant", content="A"),
            Message(role="user", content="b"),
            Message(role="assistant", content="B"),
        )
    )
    same = SupervisedDatum(instruction="b", output="B", history=(("a", "A"),))
    for record in (chat, same):
        (example,) = supervised_examples([record], tokenizer, 100)
        assert learned(example, tokenizer) == "A<|end|>B<|end|>"


@pytest.mark.parametrize(
    ("prompt", "response", "room", "kept"),
    [
        (5, 3, 10, (5, 3)),
        (50, 3, 10, (7, 3)),  # a short response is kept whole
        (3, 50, 10, (3, 7)),  # a short prompt is kept whole
        (30, 10, 20, (15, 5)),  # both are cut by the same share
        (9, 9, 1, (1, 0)),
    ],
)
def test_a_prompt_and_a_response_share_the_room(prompt, response, room, kept):
    assert shared_room(prompt, response, room) == kept


def test_long_conversations_are_cut_turn_by_turn(tokenizer):
    record = SupervisedDatum(instruction="b" * 20, output="B" * 20, history=(("a", "A"),))
    (example,) = supervised_examples([record], tokenizer, 20)
    assert len(example.tokens) == 20
    assert tokenizer.decode(example.tokens).startswith("<|user|>a<|end|><|assistant|>A<|end|>")
    assert learned(example, tokenizer).startswith("A<|end|>BBB")


def test_both_sides_of_a_preference_have_the_same_prompt(tokenizer):
    record = PreferenceDatum(
        instruction="q", chosen="yes", rejected="no!!", history=(("a", "A"),), system="s"
    )
    (pair,) = preference_examples([record], tokenizer, 100)
    assert learned(pair.chosen, tokenizer) == "yes<|end|>"  # the earlier reply is not learned
    assert learned(pair.rejected, tokenizer) == "no!!<|end|>"
    prompts = [e.tokens[: e.labels.count(IGNORED)] for e in (pair.chosen, pair.rejected)]
    assert prompts[0] == prompts[1]


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


def test_a_text_is_learned_whole_with_its_end(tokenizer):
    long, short = text_examples(
        [TextDatum(text="abcdef"), TextDatum(text="x")], tokenizer, 4, packing=False
    )
    assert learned(short, tokenizer) == "x<|end|>"
    assert learned(long, tokenizer) == "abcd"


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
