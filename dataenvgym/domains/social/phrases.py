"""Finds phrases in messages: as a whole message, or in spite of attempts to disguise them."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable

_EMPHASIS = dict.fromkeys(map(ord, "*_`~"))
_TAG = re.compile(r"</?\w[^<>]*>|<!--(?:(?!<!--|-->).)*+-->", re.DOTALL)
_ENTITY = re.compile(r"&#?\w{1,32};?")
_GAP = re.compile(r"[\W_]+")
_JOINT = "\u00b7"
_SPELLED = re.compile(r"(?<=(?<!\w)\w) (?=\w(?!\w))")
_FILLERS = dict.fromkeys(map(ord, "\u115f\u1160"))
_LOOKALIKES = str.maketrans(
    "\u0430\u0441\u0435\u0456\u0458\u043e\u0440\u0455\u0443\u0445\u04bb\u0501\u051b\u051d"
    "\u043a\u043c\u0442\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0131\u0251\u0261",
    "aceijopsyxhdqwkmtaeikvoptuxiag",
)
"""Cyrillic, Greek and other letters that look like Latin ones."""


def is_whole(text: str, phrases: Iterable[str]) -> bool:
    """True if the text is one of the phrases, and nothing else.

    Case, spacing, full width, emphasis around it (`**`) and a final period or exclamation mark make
    no difference.
    """
    return any(_message(text) == _message(phrase) for phrase in phrases)


def mentions(texts: Iterable[str], phrases: Iterable[str]) -> bool:
    """True if the texts, one after the other, have one of the phrases as whole words.

    A phrase may be continued in the next text. Case, accents, full width and letters that look like
    others make no difference, nor does anything between two letters that is not a space: markup,
    invisible characters, hyphens; nor spaces between single letters. Between two words, anything
    that is not a letter or digit may stand, or nothing at all (but 1 2 is not 12).
    """
    said = [_ENTITY.sub(lambda entity: html.unescape(entity[0]), text) for text in texts]
    forms = (map(_words, said), (_words(_TAG.sub(_JOINT, text)) for text in said))
    shown = [_SPELLED.sub(_JOINT, _JOINT.join(filter(None, words))) for words in forms]
    patterns = [re.compile(_pattern(phrase)) for phrase in phrases]
    return any(pattern.search(words) for pattern in patterns for words in shown)


def _message(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_EMPHASIS)
    return " ".join(plain.split()).rstrip(".! ")


def _words(text: str) -> str:
    """The letters and digits, with a space or, for a gap without one, a joint between them."""
    text = unicodedata.normalize("NFKD", text).casefold().translate(_FILLERS)
    shown = "".join(c for c in text if not unicodedata.combining(c)).translate(_LOOKALIKES)
    parts = _GAP.sub(lambda gap: " " if any(map(str.isspace, gap[0])) else _JOINT, shown)
    return parts.strip(f" {_JOINT}")


def _pattern(phrase: str) -> str:
    words = re.split(rf"[ {_JOINT}]", _words(phrase))
    spelled = (f"{_JOINT}?".join(map(re.escape, word)) for word in words)
    gap = rf"(?:[ {_JOINT}]|(?<!\d)|(?<=\d)(?!\d))"
    return rf"(?<!\w)(?:{gap.join(spelled)})(?!\w)"
