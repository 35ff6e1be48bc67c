import pytest

from dataenvgym.domains.tool_use.calls.environment import rouge_l


@pytest.mark.parametrize(
    ("text", "gold", "score"),
    [
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("the gunman kill police", "police kill the gunman", 0.5),
        ("The Cat, sat!", "the cat sat", 1.0),
        ("the cat", "the cat sat on the mat", 0.5),
        ("a b c d", "e f", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        ("", "", 0.0),
    ],
)
def test_it_is_the_f1_of_the_longest_common_subsequence_of_words(text, gold, score):
    assert rouge_l(text, gold) == pytest.approx(score)
    assert rouge_l(gold, text) == pytest.approx(score)
