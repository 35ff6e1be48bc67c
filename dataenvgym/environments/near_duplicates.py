"""Finds texts that nearly repeat an earlier one: MinHash over word 3-grams, by `datasketch`.

Two texts are near duplicates if their sets of word 3-grams have a Jaccard similarity of at least
`similarity` and they hold the same numbers in the same order: a problem with other numbers is
another problem. Locality-sensitive hashing proposes candidates (at a lower threshold, so that it
misses few), their exact similarity decides.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasketch import MinHash, MinHashLSH

_SHINGLE = 3
_PERMUTATIONS = 128
_SLACK = 0.15

Shingles = frozenset[bytes]


class NearDuplicateIndex:
    """A growing set of texts that can be asked whether it holds a near duplicate.

    Args:
        similarity: Jaccard threshold in (0, 1); texts too short to reach it with one word
            changed are not looked at.
    """

    def __init__(self, similarity: float) -> None:
        self.similarity = similarity
        # One changed word at the end of a text changes one of its n shingles: (n-1)/(n+1).
        self._shortest = math.ceil((1 + similarity) / max(1 - similarity, 1e-9))
        self._texts: list[Shingles] = []

    def __contains__(self, text: str) -> bool:
        shingles = _shingles(text)
        if len(shingles) < self._shortest:
            return False
        candidates = self._index.query(_minhash(shingles))
        return any(_jaccard(self._texts[i], shingles) >= self.similarity for i in candidates)

    def add(self, text: str) -> None:
        """Remember `text`, which should be normalized (words one space apart)."""
        shingles = _shingles(text)
        if len(shingles) >= self._shortest:
            self._index.insert(len(self._texts), _minhash(shingles))
            self._texts.append(shingles)

    @cached_property
    def _index(self) -> MinHashLSH:
        from datasketch import MinHashLSH

        return MinHashLSH(threshold=max(self.similarity - _SLACK, 0.1), num_perm=_PERMUTATIONS)


def _shingles(text: str) -> Shingles:
    """The text's word 3-grams; the numbers are part of each, so other numbers share none."""
    words = text.split()
    numbers = " ".join(re.findall(r"\d+", text))
    grams = (words[i : i + _SHINGLE] for i in range(len(words) - _SHINGLE + 1))
    return frozenset(f"{numbers}|{' '.join(gram)}".encode() for gram in grams)


def _minhash(shingles: Shingles) -> MinHash:
    from datasketch import MinHash

    minhash = MinHash(num_perm=_PERMUTATIONS, seed=1)
    minhash.update_batch(sorted(shingles))
    return minhash


def _jaccard(one: Shingles, other: Shingles) -> float:
    return len(one & other) / len(one | other)
