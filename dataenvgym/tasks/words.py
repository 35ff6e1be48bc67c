"""The words of a text, for comparisons."""

from __future__ import annotations

import re
import unicodedata


def words_of(text: str) -> list[str]:
    """The words and numbers of `text`, casefolded, in compatibility form (NFKC)."""
    text = unicodedata.normalize("NFKC", text).casefold()
    if not text.isascii():
        # letters, marks (vowel signs are marks in many scripts) and numbers make up words
        text = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in text)
    return re.findall(r"[^\W_]+", text) if text.isascii() else text.split()
