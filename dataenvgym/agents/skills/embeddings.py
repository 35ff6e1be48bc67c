"""Text embeddings: unit vectors, so that dot products are cosine similarities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.words import words_of


def nearest(texts: Sequence[str], known: Sequence[str], embedder: EmbedderInterface) -> list[int]:
    """For each text, the position of the most similar one in `known`; of equals, the first.

    Args:
        known: at least one text.
    """
    if not texts:
        return []
    return most_similar(embedder.embed(texts, known), embedder.embed(known, known))


def most_similar(rows: Vectors, others: Vectors) -> list[int]:
    """For each row, the position of the row of `others` with the largest dot product."""
    found: list[int] = []
    for start in range(0, rows.shape[0], _CHUNK):
        products = rows[start : start + _CHUNK] @ others.T
        dense = products.toarray() if hasattr(products, "toarray") else np.asarray(products)
        # rounded, so that equal texts stay equal in any order of additions
        found += [int(i) for i in dense.round(9).argmax(axis=1)]
    return found


_CHUNK = 512


Vectors = Any
"""(n, d), each row of length 1 or 0: a NumPy array, or a sparse matrix of SciPy."""


@runtime_checkable
class EmbedderInterface(Protocol):
    """Turns texts into vectors."""

    def embed(self, texts: Sequence[str], corpus: Sequence[str]) -> Vectors:
        """Return one row for each text.

        Args:
            texts: the texts to embed.
            corpus: the reference texts, for example for document frequencies; only vectors made
                with the same corpus are comparable.
        """
        ...


class TfidfEmbedder:
    """TF-IDF of words and parts of words: local, by scikit-learn.

    All numbers, and rows of numbers, are the same word, because the topic of a problem seldom
    depends on its numbers. Only the 50,000 most frequent features count.
    """

    def embed(self, texts: Sequence[str], corpus: Sequence[str]) -> Vectors:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(
            analyzer=self._features, sublinear_tf=True, max_features=50_000
        )
        vectorizer.fit(corpus)
        return vectorizer.transform(texts)

    def _features(self, text: str) -> Iterator[str]:
        text = masked(text)
        for word in words_of(text) or [text.strip() or "(none)"]:
            yield word
            padded = f" {word} "
            for size in range(3, 6):
                yield from (padded[i : i + size] for i in range(len(padded) - size + 1))


def masked(text: str) -> str:
    """Replace every number, and every row of numbers, by the same word."""
    return _ROW_OF_NUMBERS.sub("0", text)


def require_scikit_learn() -> None:
    """Raise ConfigurationError if scikit-learn is not installed."""
    from importlib.util import find_spec

    if find_spec("sklearn") is None:
        raise ConfigurationError(
            'skills need scikit-learn, which is not installed: pip install "dataenvgym[skills]", '
            "or use skills=gold"
        )


_ROW_OF_NUMBERS = re.compile(r"\d+(?:[.,;:\s]*\d+)*")
