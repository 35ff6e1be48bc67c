from __future__ import annotations

import random

import pytest

from dataenvgym.environments.near_duplicates import SeenTexts

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


def test_most_near_duplicates_are_found_and_strangers_are_not():
    rng = random.Random(0)
    vocabulary = [f"{a}{b}" for a in "bcdfgh" for b in "aeiou"]
    found = 0
    for _ in range(100):
        words = rng.choices(vocabulary, k=60)
        seen = seen_texts(" ".join(words))
        found += repeats(seen, " ".join([*words[:-1], "changed"])) == "near_duplicate"
        assert repeats(seen, " ".join(rng.choices(vocabulary, k=60))) is None
    assert found > 95


@pytest.mark.parametrize("other", [("17", "18"), ("17 of 4", "4 of 17")])
def test_other_numbers_or_another_order_of_them_make_no_near_duplicate(other):
    assert repeats(seen_texts(TEXT, similarity=0.5), TEXT.replace(*other)) is None


def test_texts_with_other_numbers_are_not_even_compared(monkeypatch):
    seen = seen_texts(*(TEXT.replace("17", str(n)) for n in range(100, 150)))

    def compare(*_):
        raise AssertionError

    monkeypatch.setattr(seen, "_are_near", compare)
    assert repeats(seen, TEXT) is None


def test_what_is_removed_is_new_again_and_what_was_added_twice_is_removed_twice():
    seen = seen_texts(TEXT, "short", TEXT)
    seen.remove(TEXT)
    seen.remove("short")
    assert repeats(seen, TEXT) == "duplicate"
    assert repeats(seen, "short") is None
    seen.remove(TEXT)
    assert repeats(seen, TEXT + "s") is None
