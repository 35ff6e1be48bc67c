"""Finds texts that repeat an earlier text exactly or nearly.

Two texts are near duplicates if their sets of word 3-grams have a Jaccard similarity of at least
`similarity` and they have the same numbers in the same order: a problem with other numbers is
another problem. Locality-sensitive hashing proposes candidates: texts that share a band of their
MinHash (by `datasketch`). Its threshold is lower, so that it misses few. The exact similarity
decides.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dataenvgym.records import TrainingDatum
from dataenvgym.tasks.words import plain

if TYPE_CHECKING:
    from datasketch import MinHash

_PERMUTATIONS = 128
_SLACK = 0.15
_STOPS = ".?!:;"
_SIGNS = "+*/^<>=%~|$\\#-"
_ASCII = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS + _STOPS)}]")

Bands = NDArray[np.uint64]
"""The bands of some texts, one row per text; zeros for texts that are too short."""


def record_text(record: TrainingDatum) -> str:
    """Everything that distinguishes a record, as one text."""
    return "\n".join([record.kind, *record.marks(), *record.parts()])


def normalized(text: str) -> str:
    """Keep casefolded words, numbers and mathematical signs, one space apart; no punctuation."""
    return " ".join(word for word in words_and_stops(text) if word not in _STOPS)


def words_and_stops(text: str) -> list[str]:
    """Split into casefolded words, numbers, mathematical signs and ends of sentences."""
    text = plain(text).casefold()
    if text.isascii():
        return _ASCII.findall(text)
    spaced = []
    for character in text:
        category = unicodedata.category(character)[0]
        if category in "LMN":  # combining marks are vowels in many scripts: part of words
            spaced.append(character)
        else:
            is_kept = category == "S" or character in _SIGNS or character in _STOPS
            spaced.append(f" {character} " if is_kept else " ")
    return "".join(spaced).split()


@dataclass(frozen=True)
class Fingerprint:
    """A normalized text (words one space apart) and its bands; a text may be too short for bands.

    A band is an unsigned 64-bit number. Two texts that share a band may be near duplicates.
    """

    text: str
    bands: tuple[int, ...] = ()


def bands_of(fingerprints: Sequence[Fingerprint]) -> Bands:
    """Collect the bands of fingerprints, for `SeenTexts.fingerprints_of`."""
    width = max((len(one.bands) for one in fingerprints), default=0)
    rows = [one.bands or (0,) * width for one in fingerprints]
    return np.array(rows, dtype="<u8").reshape(len(rows), width)


class SeenTexts:
    """The texts seen so far, numbered from 0.

    Owners and bands are tuples of numbers. Python's garbage collector does not visit these, so the
    cost of a step does not grow with the number of texts.

    Args:
        similarity: Jaccard threshold in (0, 1); texts too short to reach it with one word
            changed have no near duplicates.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        # One changed word at the end of a text changes one of its n shingles: (n-1)/(n+1).
        self._shortest = math.ceil((1 + similarity) / max(1 - similarity, 1e-9))
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._bands: list[tuple[int, ...]] = []
        self._owners: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def fingerprint(self, text: str) -> Fingerprint:
        """Compute the fingerprint of a text for `repeats` and `add`."""
        shingles = _shingles(text)
        if len(shingles) < self._shortest:
            return Fingerprint(text)
        minhash = _empty().copy()
        minhash.update_batch(shingles)
        # the numbers change the bands, so texts with other numbers are not candidates
        own = _numbers(text).encode()
        n_bands, size = _layout(self._similarity)
        values = minhash.hashvalues[: n_bands * size].astype(">u4").reshape(n_bands, size)
        keys = (own + bytes([i]) + band.tobytes() for i, band in enumerate(values))
        hashes = (hashlib.blake2b(key, digest_size=8).digest() for key in keys)
        return Fingerprint(text, tuple(int.from_bytes(one, "big") for one in hashes))

    def fingerprints_of(self, texts: Sequence[str], bands: Bands) -> dict[str, Fingerprint]:
        """Restore fingerprints from `bands`, by text; empty if they do not fit the first text."""
        if len(bands) != len(texts):
            return {}
        pairs = zip(texts, bands.tolist(), strict=True)
        found = {text: Fingerprint(text, tuple(row)) for text, row in pairs if any(row)}
        one = next(iter(found.values()), None)
        return found if one and one == self.fingerprint(one.text) else {}

    def repeats(self, one: Fingerprint) -> Literal["duplicate", "near_duplicate"] | None:
        """Why the text is not new, or None if it is."""
        if one.text in self._numbers:
            return "duplicate"
        candidates = {number for band in one.bands for number in self._owners.get(band, ())}
        near = any(self._are_near(one.text, self._texts[number]) for number in candidates)
        return "near_duplicate" if near else None

    def add(self, one: Fingerprint) -> None:
        """Remember the text."""
        number = len(self._texts)
        is_new = self._numbers.setdefault(one.text, number) == number
        self._texts.append(one.text)
        self._bands.append(one.bands if is_new else ())
        for band in self._bands[-1]:
            self._owners[band] = (*self._owners.get(band, ()), number)

    def forget_from(self, first: int) -> None:
        """Forget the texts from number `first` on."""
        for text, bands in zip(self._texts[first:], self._bands[first:], strict=True):
            for band in bands:
                owners = tuple(number for number in self._owners.pop(band, ()) if number < first)
                if owners:
                    self._owners[band] = owners
            if self._numbers.get(text, -1) >= first:
                del self._numbers[text]
        del self._texts[first:], self._bands[first:]

    def _are_near(self, text: str, other: str) -> bool:
        one, two = _shingles(text), _shingles(other)
        is_similar = len(one & two) / len(one | two) >= self._similarity
        return is_similar and _numbers(text) == _numbers(other)


def _shingles(text: str) -> frozenset[bytes]:
    """The text's word 3-grams."""
    words = text.encode().split(b" ")
    return frozenset(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))


def _numbers(text: str) -> str:
    return " ".join(re.findall(r"\d+", text))


@cache
def _empty() -> MinHash:
    from datasketch import MinHash

    return MinHash(num_perm=_PERMUTATIONS, seed=1)


@cache
def _layout(similarity: float) -> tuple[int, int]:
    """The number of bands, and of hashes per band; takes a second to compute."""
    from datasketch import MinHashLSH

    layout = MinHashLSH(threshold=max(similarity - _SLACK, 0.1), num_perm=_PERMUTATIONS)
    return layout.b, layout.r
