"""Exact match and F1 of an answer, as in the official evaluation of SQuAD 1.1.

Case, punctuation (ASCII), articles and spacing do not count. Both scores are the best over all gold
answers; neither is affected by the order of the gold answers.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """The text in lower case, without punctuation and articles, its words one space apart."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> bool:
    """Whether the normalized answer is one of the normalized gold answers."""
    return normalized(answer) in map(normalized, golds)


def f1(answer: str, golds: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of the normalized words, for the best gold."""
    return max(_f1(normalized(answer).split(), normalized(gold).split()) for gold in golds)


def _f1(answer: list[str], gold: list[str]) -> float:
    shared = (Counter(answer) & Counter(gold)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(answer), shared / len(gold)
    return 2 * precision * recall / (precision + recall)
