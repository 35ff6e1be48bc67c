from __future__ import annotations

import random

from dataenvgym.environments.near_duplicates import Fingerprints

TEXT = " ".join(f"word{chr(97 + i)}" for i in range(26)) + " then " * 3 + "and 17 of 4 cows"


def test_equal_texts_have_equal_digests_and_others_do_not():
    prints = Fingerprints(0.9)
    assert prints.of(TEXT) == prints.of(TEXT)
    assert prints.of(TEXT).digest != prints.of(TEXT + "s").digest


def test_a_text_too_short_to_differ_in_a_word_only_has_no_bands():
    assert Fingerprints(0.9).of("add 3 and 4").bands == ()
    assert Fingerprints(0.9).of("add 3 and 4").text is None
    assert Fingerprints(0.2).of("add 3 and 4 and 5").bands


def test_most_near_duplicates_share_a_band_and_strangers_share_none():
    rng = random.Random(0)
    prints = Fingerprints(0.9)
    vocabulary = [f"{a}{b}" for a in "bcdfgh" for b in "aeiou"]
    shared = strange = 0
    for _ in range(100):
        words = rng.choices(vocabulary, k=60)
        other = [*words[:-1], "changed"]
        one, two = " ".join(words), " ".join(other)
        assert prints.are_near(one, two)
        shared += bool({*prints.of(one).bands} & {*prints.of(two).bands})
        stranger = " ".join(rng.choices(vocabulary, k=60))
        assert not prints.are_near(one, stranger)
        strange += bool({*prints.of(one).bands} & {*prints.of(stranger).bands})
    assert shared > 95
    assert strange == 0


def test_other_numbers_or_another_order_of_them_make_no_near_duplicate():
    prints = Fingerprints(0.5)
    for other in (TEXT.replace("17", "18"), TEXT.replace("17 of 4", "4 of 17")):
        assert not prints.are_near(TEXT, other)
        assert not {*prints.of(TEXT).bands} & {*prints.of(other).bands}
