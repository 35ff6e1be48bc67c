"""Fingerprints, by which a text is found again that repeats an earlier one, or nearly.

Two texts are near duplicates if their sets of word 3-grams have a Jaccard similarity of at least
`similarity` and they hold the same numbers in the same order: a problem with other numbers is
another problem. Locality-sensitive hashing (MinHash, by `datasketch`) proposes candidates, at a
lower threshold, so that it misses few: texts that have a band in common. Their exact similarity
decides.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasketch import MinHash

_PERMUTATIONS = 128
_SLACK = 0.15

Shingles = frozenset[bytes]


@dataclass(frozen=True)
class Fingerprint:
    """What is kept of a text.

    Attributes:
        digest: of the text; equal for equal texts.
        text: the text itself, or None if it is too short to have near duplicates.
        bands: 64-bit keys (signed), one of which it shares with its near duplicates (most
            probably); none if it is too short.
    """

    digest: bytes
    text: str | None = None
    bands: tuple[int, ...] = ()


class Fingerprints:
    """Makes fingerprints, and compares them.

    Args:
        similarity: Jaccard threshold in (0, 1); texts too short to reach it with one word
            changed have no near duplicates.
    """

    def __init__(self, similarity: float) -> None:
        self.similarity = similarity
        # One changed word at the end of a text changes one of its n shingles: (n-1)/(n+1).
        self._shortest = math.ceil((1 + similarity) / max(1 - similarity, 1e-9))

    def of(self, text: str) -> Fingerprint:
        """The fingerprint of `text`, which should be normalized (words one space apart)."""
        digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
        shingles = _shingles(text)
        if len(shingles) < self._shortest:
            return Fingerprint(digest)
        return Fingerprint(digest, text, self._bands(shingles, _numbers(text)))

    def are_near(self, text: str, other: str) -> bool:
        """Whether the two texts, both long enough, are near duplicates."""
        if _numbers(text) != _numbers(other):
            return False
        one, two = _shingles(text), _shingles(other)
        return len(one & two) / len(one | two) >= self.similarity

    def _bands(self, shingles: Shingles, numbers: str) -> tuple[int, ...]:
        """The numbers are part of each key: texts with other numbers are no candidates."""
        empty, count, rows = self._hashing
        minhash = empty.copy()
        minhash.update_batch(sorted(shingles))
        values = minhash.hashvalues
        return tuple(
            _key(f"{band} {numbers} ".encode(), values[band * rows : (band + 1) * rows].tobytes())
            for band in range(count)
        )

    @cached_property
    def _hashing(self) -> tuple[MinHash, int, int]:
        """The hash of nothing yet, how many bands there are, and how many hashes each has."""
        from datasketch import MinHash, MinHashLSH

        threshold = max(self.similarity - _SLACK, 0.1)
        layout = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
        return MinHash(num_perm=_PERMUTATIONS, seed=1), layout.b, layout.r


def _shingles(text: str) -> Shingles:
    """The text's word 3-grams."""
    words = text.encode().split(b" ")
    return frozenset(map(b" ".join, zip(words, words[1:], words[2:], strict=False)))


def _numbers(text: str) -> str:
    return " ".join(re.findall(r"\d+", text))


def _key(*parts: bytes) -> int:
    digest = hashlib.blake2b(b"".join(parts), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
