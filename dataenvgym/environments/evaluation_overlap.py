"""Checks whether a record gives away a problem that the student is evaluated on.

It does if

- a line of it has the problem's `overlap_key`, which the task may define, or
- a part of it contains the problem's words, or
- a part of it shares 13 consecutive words with the problem or with its answer (see `word_runs`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from dataenvgym.environments.record_texts import (
    normalized,
    record_parts,
    record_questions,
    words_and_stops,
)
from dataenvgym.environments.word_runs import WordRuns
from dataenvgym.records import TrainingDatum

_FEWEST_WORDS = 4
"""Shorter problems are compared by key only: their words may occur in an unrelated text."""


class EvaluationOverlap:
    """The problems of an evaluation; `record in overlap` checks whether a record overlaps.

    Args:
        problems: the problems, as texts.
        answers: their gold answers; only answers of 13 words or more matter.
        overlap_key: maps a text to the identity of the problem in it (default: `normalized`).
    """

    def __init__(
        self,
        problems: Iterable[str] = (),
        *,
        answers: Iterable[str] = (),
        overlap_key: Callable[[str], str] | None = None,
    ) -> None:
        self._key = overlap_key or normalized
        self._keys: set[str] = set()
        self._problems: set[tuple[str, ...]] = set()
        lengths: defaultdict[tuple[str, ...], set[int]] = defaultdict(set)
        plain: list[list[str]] = []
        for text in problems:
            self._keys.add(self._key(text))
            words = tuple(words_and_stops(text.rstrip(" \n.?!")))
            plain.append(_plain(words))
            if len(words) >= _FEWEST_WORDS:
                self._problems.add(words)
                lengths[words[:_FEWEST_WORDS]].add(len(words))
        self._lengths = {start: sorted(found) for start, found in lengths.items()}
        plain += [_plain(words_and_stops(text)) for text in answers]
        self._runs = WordRuns(plain)

    def __contains__(self, record: TrainingDatum) -> bool:
        questions = record_questions(record)
        lines = dict.fromkeys(line for part in questions for line in (part, *part.splitlines()))
        if any(self._key(line) in self._keys for line in lines):
            return True
        for part in record_parts(record):
            words = words_and_stops(part)
            if self._holds_problem(words) or self._runs.has_run_of(_plain(words)):
                return True
        return False

    def _holds_problem(self, words: list[str]) -> bool:
        """True if the text contains a problem whose operands are not parts of longer ones."""
        n = len(words)
        words = [*words, ""]
        return any(
            i + length <= n
            and not words[i + length].isdigit()
            and tuple(words[i : i + length]) in self._problems
            for i in range(n - _FEWEST_WORDS + 1)
            for length in self._lengths.get(tuple(words[i : i + _FEWEST_WORDS]), ())
        )


def _plain(words: Iterable[str]) -> list[str]:
    """Keep words and numbers; drop signs."""
    return [word for word in words if len(word) > 1 or word.isalnum()]
