"""What keeps a record out of training: duplicates, overlap with evaluation, the record budget.

A malformed record refuses its whole batch (`parse_training_data`); a well-formed one that should
not be trained on is dropped and counted by reason:

- `duplicate`: the same text, up to case, spacing and punctuation, as an earlier record;
- `near_duplicate`: nearly the text of an earlier record, with the same numbers (see
  `NearDuplicateIndex`);
- `evaluation_overlap`: a problem that the student is evaluated on: some line of the record has its
  `overlap_key` (the task's own), or some part of the record contains its words;
- `over_budget`: beyond the episode's `max_records`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dataenvgym.environments.near_duplicates import NearDuplicateIndex
from dataenvgym.interfaces import TaskInterface
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)


class CheckedRecords(NamedTuple):
    """The records that may be trained on, and the others with the reason for each."""

    accepted: tuple[TrainingDatum, ...]
    dropped: tuple[tuple[TrainingDatum, str], ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How many records were dropped, by reason, sorted by name."""
        counts: dict[str, int] = {}
        for _, reason in self.dropped:
            counts[reason] = counts.get(reason, 0) + 1
        return dict(sorted(counts.items()))


class RecordChecks:
    """Remembers the accepted records of an episode and judges new ones against them.

    Args:
        evaluation: the problems, as texts, that the student is evaluated on.
        overlap_key: maps a text to the identity of the problem in it (default: `normalized`).
        similarity: Jaccard threshold of `near_duplicate`, in (0, 1).
        max_records: the most records that an episode accepts, or None.
    """

    def __init__(
        self,
        *,
        evaluation: Iterable[str] = (),
        overlap_key: Callable[[str], str] | None = None,
        similarity: float = 0.9,
        max_records: int | None = None,
    ) -> None:
        self._overlap_key = overlap_key or normalized
        texts = list(evaluation)
        self._evaluation_keys = frozenset(map(self._overlap_key, texts))
        words = (tuple(_words_and_stops(text.rstrip(" \n.?!"))) for text in texts)
        self._evaluation_words = frozenset(w for w in words if len(w) >= _FEWEST_WORDS)
        self._lengths = sorted(set(map(len, self._evaluation_words)))
        self._max_records = max_records
        self._texts: set[str] = set()
        self._near = NearDuplicateIndex(similarity)
        self._count = 0

    @classmethod
    def for_task(
        cls, task: TaskInterface, *, similarity: float = 0.9, max_records: int | None = None
    ) -> RecordChecks:
        """Checks against everything that `task` evaluates on.

        A task that offers splits (`on`, `instances`) is asked for its validation and test
        instances, one that only has `instances` for those; any other has no overlap check.
        """
        key: Callable[[str], str] = getattr(task, "overlap_key", normalized)
        splits = [task.on(s) for s in ("validation", "test")] if hasattr(task, "on") else [task]
        instances = [i for split in splits for i in getattr(split, "instances", ())]
        return cls(
            evaluation=(instance.instruction for instance in instances),
            overlap_key=key,
            similarity=similarity,
            max_records=max_records,
        )

    def check(self, records: Sequence[TrainingDatum]) -> CheckedRecords:
        """Judge the records in their order; remembers nothing until `accept`."""
        new: set[str] = set()
        near = NearDuplicateIndex(self._near.similarity)
        accepted: list[TrainingDatum] = []
        dropped: list[tuple[TrainingDatum, str]] = []
        for record in records:
            text = normalized(record_text(record))
            if text in self._texts or text in new:
                dropped.append((record, "duplicate"))
            elif text in self._near or text in near:
                dropped.append((record, "near_duplicate"))
            elif self._overlaps(record):
                dropped.append((record, "evaluation_overlap"))
            elif len(accepted) >= self._left:
                dropped.append((record, "over_budget"))
            else:
                accepted.append(record)
                new.add(text)
                near.add(text)
        return CheckedRecords(tuple(accepted), tuple(dropped))

    def accept(self, records: Iterable[TrainingDatum]) -> None:
        """Remember records that are trained on."""
        for record in records:
            text = normalized(record_text(record))
            self._texts.add(text)
            self._near.add(text)
            self._count += 1

    @property
    def _left(self) -> float:
        return math.inf if self._max_records is None else self._max_records - self._count

    def _overlaps(self, record: TrainingDatum) -> bool:
        lines = (line for part in record_questions(record) for line in (part, *part.splitlines()))
        if any(self._overlap_key(line) in self._evaluation_keys for line in lines):
            return True
        return any(self._contains_problem(_words_and_stops(part)) for part in record_parts(record))

    def _contains_problem(self, words: list[str]) -> bool:
        """Whether an evaluation problem stands there, not as a part of longer operands."""
        words = [*words, ""]
        return any(
            tuple(words[i : i + length]) in self._evaluation_words
            and not words[i + length].isdigit()
            for length in self._lengths
            for i in range(len(words) - length)
        )


_FEWEST_WORDS = 4
"""A shorter problem may well be part of an innocent text; its key still counts."""


def record_parts(record: TrainingDatum) -> list[str]:
    """Every text of a record: prompt, earlier turns, answers."""
    match record:
        case SupervisedDatum() | KTODatum():
            return [*(m.content for m in record.prompt), record.output]
        case PreferenceDatum():
            return [*(m.content for m in record.prompt), record.chosen, record.rejected]
        case ChatDatum():
            calls = [m.model_dump_json() for m in record.messages if m.tool_calls]
            return [record.system, *(m.content for m in record.messages), *calls]
        case TextDatum():
            return [record.text]


def record_questions(record: TrainingDatum) -> list[str]:
    """The texts of a record that may be a problem: all but the assistant's."""
    match record:
        case ChatDatum():
            return [record.system, *(m.content for m in record.messages if m.role != "assistant")]
        case TextDatum():
            return [record.text]
        case _:
            return [m.content for m in record.prompt if m.role != "assistant"]


def record_text(record: TrainingDatum) -> str:
    """All that makes a record what it is, as one text."""
    verdict = [str(record.desirable)] if isinstance(record, KTODatum) else []
    return "\n".join([record.kind, *verdict, *record_parts(record)])


def normalized(text: str) -> str:
    """Casefolded words, numbers and mathematical signs, one space apart; no punctuation."""
    return " ".join(w for w in _words_and_stops(text) if w not in _STOPS)


_STOPS = ".?!:;"
_SIGNS = "+*/^<>=%~|$\\#-"
_ASCII = re.compile(rf"[a-z0-9]+|[{re.escape(_SIGNS + _STOPS)}]")


def _words_and_stops(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text).casefold()
    if text.isascii():
        return _ASCII.findall(text)
    return "".join(_spaced(character) for character in text).split()


def _spaced(character: str) -> str:
    category = unicodedata.category(character)[0]
    if category in "LMN":  # marks are vowels in many scripts, and belong to words
        return character
    kept = category == "S" or character in _SIGNS or character in _STOPS
    return f" {character} " if kept else " "
