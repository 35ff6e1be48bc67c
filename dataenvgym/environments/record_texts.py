"""The texts of a training record, and their normalization for comparisons."""

from __future__ import annotations

import re
import unicodedata

from dataenvgym.records import TrainingDatum
from dataenvgym.tasks.words import plain


def record_text(record: TrainingDatum) -> str:
    """Everything that distinguishes a record, as one text."""
    return "\n".join([record.kind, *record.marks(), *record.parts()])


def normalized(text: str) -> str:
    """Keep casefolded words, numbers and mathematical signs, one space apart; no punctuation."""
    text = plain(text).casefold()
    if text.isascii():
        return " ".join(_ASCII_WORDS.findall(text))
    return " ".join(word for word in _spaced_out(text) if word not in _STOPS)


def words_and_stops(text: str) -> list[str]:
    """Split into casefolded words, numbers, mathematical signs and ends of sentences."""
    text = plain(text).casefold()
    return _ASCII.findall(text) if text.isascii() else _spaced_out(text)


_STOPS = ".?!:;"
_SIGNS = "+*/^<>=%~|$\\#-"
_ASCII = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS + _STOPS)}]")
_ASCII_WORDS = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS)}]")


def _spaced_out(text: str) -> list[str]:
    """The words, numbers, signs and stops of any text."""
    spaced = []
    for character in text:
        category = unicodedata.category(character)[0]
        if category in "LMN":  # combining marks are vowels in many scripts: part of words
            spaced.append(character)
        else:
            is_kept = category == "S" or character in _SIGNS or character in _STOPS
            spaced.append(f" {character} " if is_kept else " ")
    return "".join(spaced).split()
