import gc
import random

import pytest

from dataenvgym.environments.overlap import SeenTexts

TEXT = " ".join(f"word{chr(97 + i)}" for i in range(26)) + " then " * 3 + "and 17 of 4 cows"


def repeats(seen: SeenTexts, text: str) -> str | None:
    return seen.repeats(seen.fingerprint(text))


def seen_texts(*texts: str, similarity: float = 0.9) -> SeenTexts:
    seen = SeenTexts(similarity)
    for text in texts:
        seen.add(seen.fingerprint(text))
    return seen


def test_equal_texts_are_duplicates_and_others_are_not():
    seen = seen_texts(TEXT, "add 3 and 4")
    assert repeats(seen, TEXT) == repeats(seen, "add 3 and 4") == "duplicate"
    assert repeats(seen, TEXT + "s") == "near_duplicate"
    assert repeats(seen, "add 3 and 5") is None


def test_a_text_too_short_to_differ_in_a_word_only_has_no_near_duplicates():
    text = "say the word and then go"
    assert repeats(seen_texts(text), text + "ne") is None
    assert repeats(seen_texts(text, similarity=0.2), text + "ne") == "near_duplicate"


@pytest.mark.parametrize("other", [("17", "18"), ("17 of 4", "4 of 17")])
def test_other_numbers_or_another_order_of_them_make_no_near_duplicate(other):
    assert repeats(seen_texts(TEXT, similarity=0.5), TEXT.replace(*other)) is None


def test_texts_with_other_numbers_are_not_even_compared(monkeypatch):
    seen = seen_texts(*(TEXT.replace("17", str(n)) for n in range(100, 150)))
    monkeypatch.setattr(seen, "_are_near", lambda *_: pytest.fail("compared"))
    assert repeats(seen, TEXT) is None


def test_a_forgotten_text_is_new_again_and_one_added_twice_is_forgotten_twice():
    seen = seen_texts("first", TEXT, "short", TEXT)
    seen.forget_from(3)
    assert repeats(seen, TEXT) == repeats(seen, "short") == "duplicate"
    seen.forget_from(1)
    assert len(seen) == 1
    assert repeats(seen, "first") == "duplicate"
    assert [repeats(seen, text) for text in (TEXT, TEXT + "s", "short")] == [None] * 3


def variants(count: int, rng: random.Random) -> list[str]:
    """Texts of which most differ in a few words from one before them."""
    vocabulary = [f"{a}{b}" for a in "bcdfgh" for b in "aeiou"]
    texts = [" ".join(rng.choices(vocabulary, k=60)) for _ in range(count // 10)]
    while len(texts) < count:
        words = rng.choice(texts).split()
        for _ in range(rng.randint(1, 6)):
            words[rng.randrange(len(words))] = rng.choice(vocabulary)
        texts.append(" ".join(words))
    return texts


@pytest.mark.parametrize("similarity", [0.5, 0.9])
def test_the_candidates_are_those_of_datasketch(similarity, monkeypatch):
    from datasketch import MinHash, MinHashLSH

    def minhash(text: str) -> MinHash:
        words = text.split()
        shingles = {" ".join(words[i : i + 3]).encode() for i in range(len(words) - 2)}
        found = MinHash(num_perm=128, seed=1)
        found.update_batch(shingles)
        return found

    seen = SeenTexts(similarity)
    theirs = MinHashLSH(threshold=similarity - 0.15, num_perm=128)
    compared: set[str] = set()
    monkeypatch.setattr(seen, "_are_near", lambda text, other: compared.add(other))
    texts = variants(300, random.Random(0))
    for i, text in enumerate(texts):
        compared.clear()
        repeats(seen, text)
        assert compared == set(theirs.query(minhash(text)))
        seen.add(seen.fingerprint(text))
        theirs.insert(text, minhash(text))
        if i % 50 == 49:
            seen.forget_from(len(seen) - 7)
            for gone in texts[i - 6 : i + 1]:
                theirs.remove(gone)


def test_the_garbage_collector_does_not_traverse_the_growing_index():
    before = len(gc.get_objects())
    seen = seen_texts(*variants(200, random.Random(2)))
    assert len(seen) == 200
    gc.collect()  # it stops visiting tuples of numbers when it first meets them
    assert len(gc.get_objects()) - before < 100
