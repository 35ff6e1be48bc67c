"""What keeps a record out of training: duplicates, overlap with evaluation, the record budget.

A malformed record refuses its whole batch (`parse_training_data`); a well-formed one that should
not be trained on is dropped and counted by reason:

- `duplicate`: the same text, up to case, spacing and punctuation, as an earlier record;
- `near_duplicate`: nearly the text of an earlier record, with the same numbers (see
  `NearDuplicateIndex`);
- `evaluation_overlap`: the same problem as one that the student is evaluated on, by the task's
  own `overlap_key`;
- `over_budget`: beyond the episode's `max_records`.
"""

from __future__ import annotations

import math
import re
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

_WORD = re.compile(r"\w+")


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
        evaluation_keys: `overlap_key` of every evaluation instance.
        overlap_key: maps a text to the identity of the problem in it (default: `normalized`).
        similarity: Jaccard threshold of `near_duplicate`, in (0, 1).
        max_records: the most records that an episode accepts, or None.
    """

    def __init__(
        self,
        *,
        evaluation_keys: Iterable[str] = (),
        overlap_key: Callable[[str], str] | None = None,
        similarity: float = 0.9,
        max_records: int | None = None,
    ) -> None:
        self._evaluation_keys = frozenset(evaluation_keys)
        self._overlap_key = overlap_key or normalized
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
            evaluation_keys=(key(instance.instruction) for instance in instances),
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
        keys = (self._overlap_key(question) for question in record_questions(record))
        return any(key in self._evaluation_keys for key in keys)


def record_text(record: TrainingDatum) -> str:
    """All that the student would learn from: prompt and answers, one line each."""
    match record:
        case SupervisedDatum() | KTODatum():
            return "\n".join([*(m.content for m in record.prompt), record.output])
        case PreferenceDatum():
            return "\n".join([*(m.content for m in record.prompt), record.chosen, record.rejected])
        case ChatDatum():
            return "\n".join([record.system, *(m.model_dump_json() for m in record.messages)])
        case TextDatum():
            return record.text


def record_questions(record: TrainingDatum) -> list[str]:
    """The texts in a record that could be an evaluation problem: its user messages or its text."""
    match record:
        case ChatDatum():
            return [m.content for m in record.messages if m.role == "user"]
        case TextDatum():
            return [record.text]
        case _:
            return [m.content for m in record.prompt if m.role == "user"]


def normalized(text: str) -> str:
    """Casefolded words and numbers, one space apart; no punctuation."""
    return " ".join(_WORD.findall(text.casefold()))
