"""Names for groups of texts: the words that tell each from the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dataenvgym.tasks.words import words_of


def telling_words(groups: Sequence[Sequence[str]], *, count: int) -> list[str]:
    """A name for each group of texts: its `count` most telling words, all names different.

    A word tells by the share of the group's texts that have it, times the squared logarithm of how
    many times the mean share over all groups that is. Numbers, and words of one or two letters,
    tell nothing; a group without any other words is "group N".
    """
    shares = [_shares(texts) for texts in groups]
    spread: Counter[str] = Counter()
    for group in shares:
        spread.update(group)  # a word's shares over all groups, summed
    names: list[str] = []
    for number, group in enumerate(shares, start=1):
        weights = {
            # rounded, so that words that tell as much stand in the order of the alphabet
            word: round(share * math.log(max(1.0, len(groups) * share / spread[word])) ** 2, 9)
            for word, share in group.items()
        }
        best = sorted(weights, key=lambda word: (-weights[word], word))[:count]
        names.append(_other_than(names, " ".join(best) or f"group {number}"))
    return names


def _shares(texts: Sequence[str]) -> dict[str, float]:
    """The share of the texts that each word is in."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update({w for w in words_of(text) if len(w) > 2 and not any(map(str.isdigit, w))})
    return {word: n / len(texts) for word, n in found.items()}


def _other_than(names: Sequence[str], name: str) -> str:
    """`name`, or `name 2`, `name 3`, ... if it is taken."""
    other, number = name, 2
    while other in names:
        other, number = f"{name} {number}", number + 1
    return other
