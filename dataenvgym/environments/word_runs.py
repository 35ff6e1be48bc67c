"""Finds runs of 13 consecutive words that a text shares with a set of texts.

Contamination studies of language models use thirteen words: fewer are often an idiom, and more
miss copies with small changes. A run in many of the texts (more than ten of them, or more than
half) is boilerplate, such as how to write the answer, and does not give a problem away.

Each word has a random number. All runs of all texts are hashed at once into a sorted array of
64-bit numbers (a polynomial in the words' numbers, modulo 2 ** 64). A set of 10,000 problems takes
a few tenths of a second and some megabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

RUN = 13
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_COMMON = 10

Hashes = NDArray[np.uint64]


class WordRuns:
    """The runs of words in `texts`, each a sequence of words."""

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self._numbers: dict[str, int] = {}
        numbers: list[int] = []
        lengths: list[int] = []
        for words in texts:
            if len(words) >= RUN:
                lengths.append(len(words))
                numbers += [self._numbers.setdefault(w, len(self._numbers) + 1) for w in words]
        self._words_own = _random_numbers(len(self._numbers) + 1)
        self._hashes = _telling(self._hashed(numbers), np.array(lengths, dtype=np.int64))

    def has_run_of(self, words: Sequence[str]) -> bool:
        """True if 13 consecutive words also occur in one of the texts."""
        if len(words) < RUN or not len(self._hashes):
            return False
        hashes = self._hashed([self._numbers.get(word, 0) for word in words])
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        return bool((self._hashes[places] == hashes).any())

    def _hashed(self, numbers: Sequence[int]) -> Hashes:
        """Hash the run that begins at each word, except at the last twelve."""
        own = self._words_own[np.array(numbers, dtype=np.int64)]
        count = max(0, len(own) - RUN + 1)
        hashes = np.zeros(count, dtype=np.uint64)
        for i in range(RUN):
            hashes = hashes * _FACTOR + own[i : i + count]
        return hashes


def _random_numbers(count: int) -> Hashes:
    return np.random.default_rng(0).integers(0, 2**64, size=count, dtype=np.uint64)


def _telling(hashes: Hashes, lengths: NDArray[np.int64]) -> Hashes:
    """The sorted hashes of runs that are within one text and are not boilerplate.

    Args:
        hashes: of all runs, including those that reach from one text into the next.
        lengths: of the texts, in words.
    """
    if not len(lengths):
        return np.empty(0, dtype=np.uint64)
    text_of = np.repeat(np.arange(len(lengths)), lengths)[: len(hashes)]
    ends = np.cumsum(lengths)
    within = np.arange(len(hashes)) + RUN <= ends[text_of]
    hashes, text_of = hashes[within], text_of[within]
    order = np.lexsort((text_of, hashes))
    hashes, text_of = hashes[order], text_of[order]
    # count each run once per text
    first = np.ones(len(hashes), dtype=bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (text_of[1:] != text_of[:-1])
    runs, counts = np.unique(hashes[first], return_counts=True)
    is_common = (counts > _COMMON) | ((counts > 2) & (counts > len(lengths) / 2))
    return np.asarray(runs[~is_common], dtype=np.uint64)
