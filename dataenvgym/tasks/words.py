"""The words of a text, and its plain form, for comparisons."""

from __future__ import annotations

import re
import unicodedata

_ALIKE = "авсԁегһніјкӏмпорԛѕтуүѵԝхαβεγηικνορτυωχζϳհոօսıɑɡłøđħᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ"
"""Letters, mostly Cyrillic, Greek and Armenian, that look like those of `_LATIN`."""
_LATIN = "abcderhhijklmnopqstyyvwxabeynikvoptuwxzjhnouiaglodhabcdefghijklmnoprstuvwyz"
_UNSEEN = (
    *(*range(9), *range(14, 28), *range(127, 133), *range(134, 160), 0x34F, 0x115F, 0x1160),
    *(0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
)
_PLAIN = str.maketrans(
    {
        **{a.upper(): b.upper() for a, b in zip(_ALIKE, _LATIN, strict=True)},
        **dict(zip(_ALIKE, _LATIN, strict=True)),
        **dict.fromkeys(map(chr, _UNSEEN), ""),
        **dict(zip("\u2800‐‒–−×∗⋅÷⁄∕", " ----***///", strict=True)),  # noqa: RUF001
    }
)
_CAPITALS = str.maketrans("\u0397\u039c\u039d\u03a5", "HMNY")
"""Greek capitals that look like other Latin letters than their small forms do."""
_ACCENTS = frozenset({1, *range(10, 37), *range(200, 241)})
"""Combining classes of accents; the vowel signs of many scripts are in other classes."""


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
    for c in unicodedata.normalize("NFKD", text):
        is_unseen = unicodedata.category(c) in ("Cf", "Cs", "Me")
        if not is_unseen and unicodedata.combining(c) not in _ACCENTS:
            seen.append(str(unicodedata.digit(c, c)))
    text = unicodedata.normalize("NFKC", "".join(seen))
    return re.sub(
        r"\w+",
        lambda word: word[0].translate(_CAPITALS) if re.search("[A-Za-z]", word[0]) else word[0],
        text,
    ).translate(_PLAIN)
