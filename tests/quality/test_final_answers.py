from __future__ import annotations

import pytest
from dataenvgym.quality.final_answers import majority_of, same_answers


def test_final_answers_are_compared_and_how_they_are_reached_is_not():
    pairs = [
        ("I add.\n#### 0.5", "It is \\boxed{\\frac{1}{2}}"),
        ("#### 7", "#### 8"),
        ("#### 7", "seven"),
    ]
    assert same_answers(pairs) == [True, False, False]


def test_a_gold_text_without_a_final_answer_is_compared_as_a_whole():
    pairs = [("Paris it is", " Paris  it is\n"), ("Paris", "#### Paris"), ("Paris", "Rome")]
    assert same_answers(pairs) == [True, False, False]


@pytest.mark.parametrize(
    ("answers", "of", "majority"),
    [
        (["3", "4", "3.0"], 5, None),
        (["3", "4", "3.0", "6/2"], 5, "3"),
        (["3", "4"], 2, None),
        (["3"], 1, "3"),
        ([], 3, None),
    ],
)
def test_more_than_half_of_all_samples_make_a_majority(answers, of, majority):
    assert majority_of(answers, of=of) == majority
