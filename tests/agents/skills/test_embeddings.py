import numpy as np
import pytest

from dataenvgym.agents.skills import TfidfEmbedder
from dataenvgym.agents.skills.embeddings import nearest

CORPUS = ["Sort 3 1 2 in rising order.", "How long is 4 5?", "What is 12 plus 30?"]


def similarity(embedder: TfidfEmbedder, one: str, other: str) -> float:
    rows = embedder.embed([one, other], CORPUS)
    return float((rows[0] @ rows[1].T).toarray()[0, 0])


def test_texts_that_differ_in_numbers_are_similar():
    one, other = "What is 12 plus 30?", "What is 9 plus 41?"
    assert similarity(TfidfEmbedder(), one, other) == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "?!", "...", "世界", " \n"])
def test_texts_without_words_are_allowed(text):
    rows = TfidfEmbedder().embed([text], [text, text])
    assert rows.shape[0] == 1
    assert np.isfinite(rows.toarray()).all()


def test_other_forms_of_a_word_are_near_and_of_equal_texts_the_first():
    near, far = "Sorting it, in a rising order", "plus or minus"
    assert nearest([near, far], CORPUS, TfidfEmbedder()) == [0, 2]
    assert nearest(["one two"], ["three", "one two", "one two"], TfidfEmbedder()) == [1]
    assert nearest([], CORPUS, TfidfEmbedder()) == []
