"""ROUGE-L: how similar two texts are, by their longest common subsequence of words.

Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004). The score is the F1 of
precision and recall. Words are casefolded, punctuation does not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.tasks.words import words_of


def rouge_l(text: str, gold: str) -> float:
    """The F1 of ROUGE-L, 0.0 to 1.0; 0.0 if one of the texts has no words."""
    given, wanted = words_of(text), words_of(gold)
    common = _longest_common_subsequence(given, wanted)
    return 2 * common / (len(given) + len(wanted)) if common else 0.0


def _longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Its length, in O(len(one) * len(other))."""
    lengths = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for i, candidate in enumerate(other, start=1):
            above = lengths[i]
            lengths[i] = before + 1 if word == candidate else max(above, lengths[i - 1])
            before = above
    return lengths[-1]
