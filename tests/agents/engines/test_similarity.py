import pytest

from dataenvgym.agents.engines.record_pool import TextSimilarity

TEXTS = ["What is 3 plus 4?", "Write 3 1 4 backwards.", "How long is 1 2 3?", ""]


def test_a_text_is_most_similar_to_itself_even_with_other_numbers():
    likeness = TextSimilarity(TEXTS).to(["What is 17 plus 25?", "write 9 9 backwards."])
    assert likeness.shape == (2, 4)
    assert likeness.argmax(axis=1).tolist() == [0, 1]
    assert likeness.max(axis=1) == pytest.approx([1.0, 1.0])


def test_cosines_lie_between_zero_and_one_and_an_empty_text_is_like_none():
    likeness = TextSimilarity(TEXTS).to([*TEXTS, "something else altogether"])
    assert likeness.min() >= 0
    assert likeness.max() <= 1 + 1e-9
    assert not likeness[:, 3].any()


def test_rare_words_weigh_more_than_common_ones():
    similarity = TextSimilarity(["the cat sat", "the dog sat", "the cow sat"])
    cat, dog, _ = similarity.to(["the cat"])[0]
    assert cat > 2 * dog
