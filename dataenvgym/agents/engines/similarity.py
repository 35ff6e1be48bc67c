"""How alike two texts are: the cosine of their TF-IDF vectors of words, pairs and triples.

The n-grams are hashed into a fixed number of dimensions, so that nothing has to be learned from the
texts but how many of them have each n-gram. Numbers count as one and the same word: what is asked
matters here, not about which numbers.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

_DIMENSIONS = 2**18
_TOKEN = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+|[^\w\s]")


class TextSimilarity:
    """Cosines between a fixed collection of texts and others.

    Args:
        texts: the collection; it decides how much each n-gram weighs, the rare ones more.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = _counts(texts)
        documents = np.bincount(counts.indices, minlength=_DIMENSIONS)
        self._weights = np.log((1 + len(texts)) / (1 + documents)) + 1.0
        self._columns = self._normalized(counts).T.tocsr()

    def to(self, texts: Sequence[str]) -> np.ndarray:
        """Cosines from 0 to 1, of shape (len(texts), size of the collection)."""
        dense: np.ndarray = (self._normalized(_counts(texts)) @ self._columns).toarray()
        return dense

    def _normalized(self, counts: Any) -> Any:
        """The counts weighted, each row of length 1 (or empty)."""
        values = counts.data * self._weights[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=counts.shape[0]))
        counts.data = values / lengths[rows]
        return counts


def _counts(texts: Sequence[str]) -> Any:
    """A sparse matrix (len(texts), dimensions) with how often each text has each n-gram."""
    from scipy import sparse

    columns: list[int] = []
    values: list[int] = []
    ends = [0]
    for text in texts:
        counted = Counter(zlib.crc32(gram.encode()) % _DIMENSIONS for gram in _grams(text))
        columns += counted.keys()
        values += counted.values()
        ends.append(len(columns))
    shape = (len(texts), _DIMENSIONS)
    return sparse.csr_matrix((np.array(values, float), columns, ends), shape=shape)


def _grams(text: str) -> list[str]:
    found = _TOKEN.findall(text.casefold())
    words = ["0" if token[0].isdigit() else token for token in found]
    words = [w for i, w in enumerate(words) if w != "0" or i == 0 or words[i - 1] != "0"]
    return [" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)]
