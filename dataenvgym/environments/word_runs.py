"""Finds runs of 13 words in a row that a text has in common with a set of texts.

Thirteen words are what contamination studies of language models go by: fewer are often an idiom,
more are easily missed. A run that is in many of the texts (more than ten of them, or more than
half) is boilerplate, such as how to write the answer, and gives no problem away.

Words are numbered, and all runs of all texts hashed at once into a sorted array of 64-bit numbers
(a polynomial in the words' own random numbers, modulo 2 ** 64), so that a set of 10,000 problems
costs a few tenths of a second and some megabytes.
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
        """Whether 13 words in a row of these are in a row in one of the texts, too."""
        if len(words) < RUN or not len(self._hashes):
            return False
        hashes = self._hashed([self._numbers.get(word, 0) for word in words])
        places = np.searchsorted(self._hashes, hashes)
        places[places == len(self._hashes)] = 0
        return bool((self._hashes[places] == hashes).any())

    def _hashed(self, numbers: Sequence[int]) -> Hashes:
        """The hash of the run that begins at each word, for all but the last twelve words."""
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
        hashes: of all runs, those that reach from one text into the next included.
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
    # each run once for each text that has it
    first = np.ones(len(hashes), dtype=bool)
    first[1:] = (hashes[1:] != hashes[:-1]) | (text_of[1:] != text_of[:-1])
    runs, counts = np.unique(hashes[first], return_counts=True)
    is_common = (counts > _COMMON) | ((counts > 2) & (counts > len(lengths) / 2))
    return np.asarray(runs[~is_common], dtype=np.uint64)
