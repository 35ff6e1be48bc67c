"""Text embeddings: unit vectors, so that dot products are cosine similarities.

- `TfidfEmbedder`: TF-IDF of words and parts of words (scikit-learn); local, without a model.
- `EndpointEmbedder`: any server with OpenAI's `/v1/embeddings`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError, ServerError, check_at_least
from dataenvgym.llm import ChatClient, key_from
from dataenvgym.llm.outages import is_transient
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
    """TF-IDF of words and of their parts of 3 to 5 characters. The same words give the same vector.

    Args:
        mask_numbers: replace all numbers, and rows of numbers, by the same word, because the topic
            of a problem seldom depends on its numbers.
        max_features: keep at most this number of the most frequent features.

    Raises:
        ConfigurationError: if scikit-learn is not installed.
    """

    def __init__(self, *, mask_numbers: bool = True, max_features: int = 50_000) -> None:
        check_at_least(1, max_features=max_features)
        require_scikit_learn()
        self.mask_numbers = mask_numbers
        self.max_features = max_features

    def embed(self, texts: Sequence[str], corpus: Sequence[str]) -> Vectors:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(
            analyzer=self._features, sublinear_tf=True, max_features=self.max_features
        )
        vectorizer.fit(corpus)
        return vectorizer.transform(texts)

    def _features(self, text: str) -> Iterator[str]:
        if self.mask_numbers:
            text = masked(text)
        for word in words_of(text) or [text.strip() or "(none)"]:
            yield word
            padded = f" {word} "
            for size in range(3, 6):
                yield from (padded[i : i + size] for i in range(len(padded) - size + 1))


class EndpointEmbedder:
    """Embeddings from a server with OpenAI's protocol.

    Embeddings are kept in memory while the process runs. Temporary failures are retried. These
    calls do not count against the teacher's budget.

    Args:
        model: the model's name on the server.
        base_url: the server, with or without "/v1".
        api_key_variable: the environment variable with the key; None sends no key.
        batch_size: texts in one request.
        timeout: seconds that one request may take.
        retries: the most retries of a request, after 1, 2, 4 ... seconds.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key_variable: str | None = "OPENAI_API_KEY",
        batch_size: int = 128,
        timeout: float = 60.0,
        retries: int = 4,
    ) -> None:
        check_at_least(1, batch_size=batch_size)
        self.model = model
        self.batch_size = batch_size
        self.retries = retries
        self._client = ChatClient(base_url, api_key=key_from(api_key_variable), timeout=timeout)
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str], corpus: Sequence[str] = ()) -> Vectors:
        missing = list(dict.fromkeys(t for t in texts if t not in self._known))
        for start in range(0, len(missing), self.batch_size):
            batch = missing[start : start + self.batch_size]
            self._known.update(zip(batch, self._ask(batch), strict=True))
        return np.stack([self._known[text] for text in texts])

    def _ask(self, texts: list[str]) -> np.ndarray:
        payload: dict[str, JsonValue] = {
            "model": self.model,
            "input": [*texts],
            "encoding_format": "float",
        }
        tried = 0
        while True:
            try:
                answer = self._client.request("POST", "/v1/embeddings", payload)
                return _parsed(answer, len(texts), self._client.base_url)
            except ServerError as error:
                passing = error.status is None or is_transient(error.status)
                if tried == self.retries or not passing:
                    raise
            time.sleep(2.0**tried)
            tried += 1


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


def _parsed(answer: Any, count: int, server: str) -> np.ndarray:
    """Parse the endpoint's answer as unit vectors (count, d)."""
    try:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
    except (LookupError, TypeError, ValueError) as error:
        raise ServerError(f"{server}/v1/embeddings answered no embeddings", status=200) from error
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise ServerError(
            f"{server}/v1/embeddings answered {vectors.shape} numbers for {count} texts", status=200
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
