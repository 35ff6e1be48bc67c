"""The plain form of texts: what reads the same becomes the same, and no other texts do."""

import sys
import unicodedata
from itertools import combinations

import pytest

from dataenvgym.tasks.words import plain

NAME = "Nina, 12 + 30"


@pytest.mark.parametrize(
    "text",
    [
        "N\u0456n\u0430, 12 + 30",  # Cyrillic
        "\u039d\u03b9n\u03b1, 12 + 30",  # Greek
        "\uff2e\uff49\uff4e\uff41\uff0c \uff11\uff12 \uff0b \uff13\uff10",
        "N\u0336i\u0336n\u0336a\u0336, 12 + 30",
        "Ni\u00adna, 1\u200b2 + 30",
        "Ni\x07na, \u0661\u0662 + \u06f3\u06f0",
        "Nina, \u00b9\u00b2 + \u2083\u2080",
        "Nina, \u2460\u2461 + 30",
    ],
)
def test_what_reads_the_same_has_the_same_plain_form(text):
    assert plain(text) == NAME


def test_ordinary_texts_stay_as_they_are_and_signs_that_look_alike_are_one():
    for text in ("", NAME, "a\tb\n\nC", "x^2 - {y} * 3/4 \\times", "\u4f60", "\ud55c\uad6d"):
        assert plain(text) == text
    assert plain("3 \u2212 2 \u00d7 4 \u00f7 1") == "3 - 2 * 4 / 1"


@pytest.mark.parametrize(
    "words",
    [
        ["\u0915\u093f", "\u0915\u0940", "\u0915\u0941", "\u0915"],  # Hindi: vowel signs
        ["\u0e01\u0e48\u0e32", "\u0e01\u0e49\u0e32", "\u0e01\u0e32"],  # Thai: tones
        ["\u304b", "\u304c", "\u306f", "\u3070", "\u3071"],  # Japanese: voiced sounds
        ["\ubc29", "\ubd09", "\uac15", "\uac00"],  # Korean
        ["5 - 3", "5 + 3", "53", "5 3", "5.3"],
        ["vet", "net", "uet", "yet", "bet"],
    ],
)
def test_other_words_have_other_plain_forms(words):
    for one, other in combinations(words, 2):
        assert plain(one) != plain(other)


def test_every_character_has_a_plain_form_that_is_its_own():
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) not in ("Cn", "Co"):
            once = plain(f"a{chr(code)}b")
            assert plain(once) == once, hex(code)
            once.encode()
