"""Phrases in messages, whole or disguised."""

import random
import re
import unicodedata

import pytest

from dataenvgym.domains.social import shipped_profiles
from dataenvgym.domains.social.scores import is_whole, mentions

PHRASES = sorted(
    {p for s in shipped_profiles().scenes.values() for k in s.secrets for p in k.phrases}
)
BETWEEN = (
    "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u034f", "\ufe0f", "\u3164", "\U000e0061",
    "*", "_", "**", "`", "~~", "-", ".", "|", "<b>", "</i>",
)  # fmt: skip


def wide(text):
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalpha() else c for c in text)


def bold(text):
    return "".join(chr(0x1D41A + ord(c) - 97) if c.isalpha() else c for c in text.lower())


def disguises(phrase):
    """Texts in which a reader sees the phrase, one or several messages each."""
    middle = phrase.index(" ") - 1 if " " in phrase[2:] else len(phrase) // 2
    for mark in BETWEEN:
        yield (f"{phrase[:middle]}{mark}{phrase[middle:]}",)
        yield (mark.join(phrase),)
        yield (f"{mark}{phrase}{mark}",)
        yield (phrase.replace(" ", f"{mark} {mark}"),)
        yield (phrase.replace(" ", mark if mark not in ("\u3164", "\u034f") else " "),)
    for at in range(1, len(phrase)):
        yield phrase[:at], phrase[at:]
        yield f"{phrase[:at]}...", f"**{phrase[at:]}"
    yield (wide(phrase),)
    yield (bold(phrase),)
    yield (phrase.upper(),)
    yield (phrase.replace(" ", ", "),)
    yield (phrase.replace(" ", " \n "),)
    yield (phrase.replace(" ", "\u00a0"),)
    yield (" ".join(phrase.replace(" ", "")),)
    yield ("".join(f"{c}\u0301" for c in phrase),)
    yield (unicodedata.normalize("NFD", phrase),)
    yield (
        phrase.translate(str.maketrans("aeopcyx", "\u0430\u0435\u043e\u0440\u0441\u0443\u0445")),
    )
    yield (phrase.translate(str.maketrans("oi", "\u03bf\u03b9")),)
    yield (f"<x {phrase}>",)
    for word in ("", "-", "_", "<!-- a\nb -->", "<!--<i>-->", "&nbsp;", "&#160;", "&NewLine;"):
        yield (phrase.title().replace(" ", word),)
        yield (f"#{phrase.replace(' ', word)}!",)
    yield (f"{phrase[:middle]}<!-- {phrase[::-1]} -->{phrase[middle:]}",)
    yield ("".join(f"&#{ord(c)};" for c in phrase),)
    yield (f"{phrase[:middle]}&shy;{phrase[middle:-1]}&#x{ord(phrase[-1]):x};",)


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_disguised_phrase_is_found(phrase):
    for said in disguises(phrase):
        for texts in (said, ("Listen: " + said[0], *said[1:-1], said[-1] + ", you know.")):
            texts = texts if len(said) > 1 else [f"Listen: {said[0]}, you know."]
            assert mentions(texts, ["nothing else", phrase]), texts
            assert not mentions(texts, ["nothing else"])


def test_other_words_are_not_the_phrase():
    """Neither longer words, nor words that only have the same letters."""
    for phrase in PHRASES:
        for text in (f"pre{phrase}", f"{phrase}ment", phrase[:-1], phrase[1:], ""):
            if text not in PHRASES:
                assert not mentions([text], [phrase]), text
    for text, phrase in (
        ("I will tell you nothing still", "ill"), ("They gave them ill advice.", "the mill"),
        ("The shop is now here.", "nowhere"), ("A part of it is land.", "island"),
        ("Take 12, not 3.", "1 2"), ("Take 1 &#50;3.", "1 2"), ("A blue heroine", "blue heron"),
    ):  # fmt: skip
        assert not mentions([text], [phrase]), text


def test_innocent_sentences_do_not_mention_a_secret():
    """They have the words of secrets, or longer words that begin or end with them, in between."""
    rng = random.Random(7)
    phrases = [*PHRASES, "blue heron", "nine lives"]
    pieces = sorted({word for phrase in phrases for word in phrase.split()})
    words = [
        *(
            f"{a}{b}"
            for a in ("", "un", "re")
            for b in ("still", "test", "heroine", "lived", "sale")
        ),
        *("blue", "for", "my", "was", "is", "the", "nine", "on", "Friday", "AT&T", "R&D", "a<b"),
        *("<b>it</b>", "&amp;", "<!-- note -->", "3.5", "&lt;you&gt;", "camelCase", "yearsago"),
        *(f"{piece}{end}" for piece in pieces for end in ("ing", "ly") if piece != "test"),
    ]
    between = (" ", ", ", " & ", " - ", "\n", " <b>", "; ")
    for _ in range(500):
        chosen = rng.choices(words, k=rng.randrange(3, 14))
        sentence = "".join(f"{word}{rng.choice(between)}" for word in chosen)
        plain = re.sub(r"<[^<>]*>|&\w+;|[\W_]", " ", sentence).casefold().split()
        said = [p for p in phrases if f" {p} " in f" {' '.join(plain)} "]
        assert mentions([sentence], phrases) == bool(said), sentence


def test_a_whole_message_has_no_other_words():
    for text in ("Take  4 coins.", "take 4 coins", "**Take 4 coins!**", wide("Take 4 coins")):
        assert is_whole(text, ["x", "take 4 coins"])
    for text in ("Take 4 coins?", "Do not take 4 coins.", '"Take 4 coins."', "Take 4 coins, or 5."):
        assert not is_whole(text, ["x", "take 4 coins"])
