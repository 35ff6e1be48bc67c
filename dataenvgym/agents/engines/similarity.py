"""Text similarity: the cosine of TF-IDF vectors of word n-grams (n from 1 to 3).

The n-grams are hashed into a fixed number of dimensions; only their document frequencies are
learned from the texts. All numbers count as the same word, because the kind of question matters
here and not its numbers.
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
    """Cosine similarities between a fixed collection of texts and other texts.

    Args:
        texts: the collection. Its document frequencies set the weights: rare n-grams weigh more.
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
        """Weight the counts, and scale each row to length 1 (an empty row stays empty)."""
        values = counts.data * self._weights[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=counts.shape[0]))
        counts.data = values / lengths[rows]
        return counts


def _counts(texts: Sequence[str]) -> Any:
    """Count the n-grams of each text, as a sparse matrix (len(texts), dimensions)."""
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
