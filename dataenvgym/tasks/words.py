"""The words of a text, and its plain form, for comparisons."""

from __future__ import annotations

import re
import unicodedata

_ALIKE = (
    "\u0430\u0432\u0441\u0501\u0435\u0433\u04bb\u043d\u0456\u0458\u043a\u04cf\u043c"
    "\u043f\u043e\u0440\u051b\u0455\u0442\u0443\u04af\u0475\u051d\u0445"
    "\u03b1\u03b2\u03b5\u03b3\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c9"
    "\u03c7\u03b6\u03f3"
    "\u0570\u0578\u0585\u057d\u0131\u0251\u0261\u0142\u00f8\u0111\u0127"
    "\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f\u1d0d"
    "\u0274\u1d0f\u1d18\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21\u028f\u1d22"
)
"""Cyrillic, Greek, Armenian and other letters that look like Latin ones."""
_LATIN = "abcderhhijklmnopqstyyvwxabeynikvoptuwxzjhnouiaglodhabcdefghijklmnoprstuvwyz"
_CONTROLS = map(chr, (*range(9), *range(14, 28), *range(127, 133), *range(134, 160)))
_SIGNS = {"\u2800": " ", **dict.fromkeys("\u2010\u2012\u2013\u2212", "-")}
_SIGNS |= {**dict.fromkeys("\u00d7\u2217\u22c5", "*"), **dict.fromkeys("\u00f7\u2044\u2215", "/")}
_PLAIN = str.maketrans(
    {
        **{a.upper(): b.upper() for a, b in zip(_ALIKE, _LATIN, strict=True)},
        **dict(zip(_ALIKE, _LATIN, strict=True)),
        **dict.fromkeys(_CONTROLS, ""),
        **_SIGNS,
    }
)
_CAPITALS = str.maketrans("\u0397\u039c\u039d\u03a5", "HMNY")
"""Greek capitals that look like other Latin letters than their small forms do."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
)
_ACCENTS = frozenset({1, *range(10, 37), *range(200, 241)})
"""Combining classes of marks that are no letters: not the vowel signs of many scripts."""


def words_of(text: str) -> list[str]:
    """The words and numbers of `text`, casefolded, in compatibility form (NFKC)."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if not text.isascii():
        # letters, marks (vowel signs are marks in many scripts) and numbers make up words
        text = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
    return re.findall(r"[^\W_]+", text) if text.isascii() else text.split()


def plain(text: str) -> str:
    """The text in the characters that a reader takes it to have, with its case.

    Compatibility forms (full width, bold, superscripts) become ordinary ones (NFKC), digits of all
    scripts become 0 to 9, invisible characters and accents go, and letters and signs that look like
    Latin letters and ASCII signs become these.
    """
    if text.isascii():
        return text.translate(_PLAIN)
    seen = []
    for c in _UNSEEN.sub("", unicodedata.normalize("NFKD", text)):
        kind = unicodedata.category(c)
        if kind in ("Cf", "Cs", "Me") or unicodedata.combining(c) in _ACCENTS:
            continue
        seen.append(str(unicodedata.digit(c, c)))
    text = unicodedata.normalize("NFKC", "".join(seen))
    return re.sub(r"\w+", _with_latin_capitals, text).translate(_PLAIN)


def _with_latin_capitals(word: re.Match[str]) -> str:
    is_latin = re.search("[A-Za-z]", word[0])
    return word[0].translate(_CAPITALS) if is_latin else word[0]
