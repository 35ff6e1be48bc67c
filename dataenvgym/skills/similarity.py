"""Finds the most similar of some texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dataenvgym.skills.embeddings import EmbedderInterface, Vectors


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
