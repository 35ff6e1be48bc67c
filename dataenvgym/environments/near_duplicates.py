"""Finds texts that repeat an earlier one, or nearly.

Two texts are near duplicates if their sets of word 3-grams have a Jaccard similarity of at least
`similarity` and they hold the same numbers in the same order: a problem with other numbers is
another problem. Locality-sensitive hashing (MinHash, by `datasketch`) proposes candidates, at a
lower threshold, so that it misses few. Their exact similarity decides.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

_PERMUTATIONS = 128
_SLACK = 0.15

Shingles = frozenset[bytes]


@dataclass(frozen=True)
class Fingerprint:
    """A normalized text (words one space apart) and its hash; None if it is too short for one."""

    text: str
    minhash: MinHash | None = None


class SeenTexts:
    """The texts so far.

    Args:
        similarity: Jaccard threshold in (0, 1); texts too short to reach it with one word
            changed have no near duplicates.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        # One changed word at the end of a text changes one of its n shingles: (n-1)/(n+1).
        self._shortest = math.ceil((1 + similarity) / max(1 - similarity, 1e-9))
        self._texts: Counter[str] = Counter()
        self._index: MinHashLSH | None = None

    def fingerprint(self, text: str) -> Fingerprint:
        """What `repeats` and `add` want of a text."""
        shingles = _shingles(text)
        if len(shingles) < self._shortest:
            return Fingerprint(text)
        minhash = _empty().copy()
        minhash.update_batch(sorted(shingles))
        # texts with other numbers have other values, and are no candidates
        digest = hashlib.blake2b(_numbers(text).encode(), digest_size=8).digest()
        own = int.from_bytes(digest, "big") >> 64 - 8 * minhash.hashvalues.itemsize
        minhash.hashvalues ^= minhash.hashvalues.dtype.type(own)
        return Fingerprint(text, minhash)

    def repeats(self, one: Fingerprint) -> Literal["duplicate", "near_duplicate"] | None:
        """Why it is not a new text, or None."""
        if one.text in self._texts:
            return "duplicate"
        if one.minhash is None or self._index is None:
            return None
        near = any(self._are_near(one.text, other) for other in self._index.query(one.minhash))
        return "near_duplicate" if near else None

    def add(self, one: Fingerprint) -> None:
        """From now on it is not a new text."""
        self._texts[one.text] += 1
        if one.minhash is not None and self._texts[one.text] == 1:
            if self._index is None:
                self._index = _empty_index(self._similarity)
            self._index.insert(one.text, one.minhash, check_duplication=False)

    def remove(self, text: str) -> None:
        """Take back one `add`."""
        self._texts[text] -= 1
        if not self._texts[text]:
            del self._texts[text]
            if self._index is not None and text in self._index:
                self._index.remove(text)

    def _are_near(self, text: str, other: str) -> bool:
        one, two = _shingles(text), _shingles(other)
        is_similar = len(one & two) / len(one | two) >= self._similarity
        return is_similar and _numbers(text) == _numbers(other)


def _shingles(text: str) -> Shingles:
    """The text's word 3-grams."""
    words = text.encode().split(b" ")
    return frozenset(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))


def _numbers(text: str) -> str:
    return " ".join(re.findall(r"\d+", text))


@cache
def _empty() -> MinHash:
    from datasketch import MinHash

    return MinHash(num_perm=_PERMUTATIONS, seed=1)


def _empty_index(similarity: float) -> MinHashLSH:
    from datasketch import MinHashLSH

    return MinHashLSH(num_perm=_PERMUTATIONS, params=_bands(similarity), hashfunc=_short)


@cache
def _bands(similarity: float) -> tuple[int, int]:
    """How many bands there are, and how many hashes each has; takes a second to compute."""
    from datasketch import MinHashLSH

    layout = MinHashLSH(threshold=max(similarity - _SLACK, 0.1), num_perm=_PERMUTATIONS)
    return layout.b, layout.r


def _short(band: bytes) -> bytes:
    return hashlib.blake2b(band, digest_size=8).digest()
