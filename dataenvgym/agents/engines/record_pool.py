"""A pool of finished records for engines to select from or rewrite: a file or a train split."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import orjson

from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.agents.engines.similarity import TextSimilarity
from dataenvgym.errors import ConfigurationError, InvalidRecordError, did_you_mean
from dataenvgym.interfaces import TaskInterface
from dataenvgym.plans import Assignment
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.tasks.adapted import task_of

PromptedDatum = SupervisedDatum | ChatDatum | PreferenceDatum | KTODatum | ScoredDatum
"""The kinds of records that begin with a question."""


class RecordPool:
    """Records by position; finds those that fit an assignment.

    Args:
        task: its train split, with gold answers, is the pool if there is no file.
        path: a JSONL file of records in the form of a run's `records.jsonl`, or None. A record
            without its own system message and earlier turns gets the task's prompt.
    """

    def __init__(self, task: TaskInterface, path: str | Path | None = None) -> None:
        self._task = task_of(task)
        self._path = None if path is None else Path(path).expanduser()
        self._likeness_to = lru_cache(maxsize=512)(self._computed_likeness)

    def prepare(self) -> None:
        """Make sure that there is a pool.

        Raises:
            ConfigurationError: if the file or the train split is missing or unusable.
        """
        _ = self.records if self._path else self._task.on("train").instances

    @cached_property
    def records(self) -> tuple[PromptedDatum, ...]:
        """All of them, loaded once."""
        found: Sequence[PromptedDatum]
        if self._path is None:
            found = gold_records(self._task, self._task.on("train").instances)
        else:
            found = [self._framed(record) for record in _read(self._path)]
        if not found:
            source = self._path or "the task's train split"
            raise ConfigurationError(f"the pool is empty: found no usable records in {source}")
        return tuple(found)

    def _framed(self, record: PromptedDatum) -> PromptedDatum:
        domain = self._task.domain
        if isinstance(record, ChatDatum | ScoredDatum):
            return record
        if isinstance(record, SupervisedDatum):
            return domain.frame(record)
        return domain.prompt_template.frame(record)

    @property
    def skills(self) -> tuple[str, ...]:
        """The skills of its records, sorted."""
        return tuple(sorted(self._by_skill))

    def fitting(self, assignment: Assignment, free: np.ndarray, *, nearest: int) -> np.ndarray:
        """Find the positions of free records that fit an assignment.

        If the pool has the assignment's skill, these are the records of that skill; else the
        `nearest` ones most similar to its examples; without skill and examples, all.

        Args:
            free: booleans (size of the pool,), True for records that may be taken.

        Raises:
            ConfigurationError: for a skill that no record has, without examples of it.
        """
        if assignment.skill is not None and assignment.skill in self._by_skill:
            of_skill: np.ndarray = self._by_skill[assignment.skill]
            fitting: np.ndarray = of_skill[free[of_skill]]
            return fitting
        positions = np.flatnonzero(free)
        if assignment.examples:
            likeness = self.likeness(assignment)[positions]
            return positions[np.argsort(-likeness, kind="stable")[:nearest]]
        if assignment.skill is not None:
            raise ConfigurationError(
                f"no record of the pool has the skill {assignment.skill!r}, and there are no "
                f"examples of it.{did_you_mean(assignment.skill, self.skills)} "
                f"It has: {', '.join(self.skills) or 'records without skills only'}"
            )
        return positions

    def likeness(self, assignment: Assignment) -> np.ndarray:
        """The mean similarity of each record's question to the assignment's examples (size,)."""
        total = np.zeros(len(self.records))
        for example in assignment.examples:
            total += self._likeness_to(example.instance.instruction)
        return total / max(len(assignment.examples), 1)

    @cached_property
    def _by_skill(self) -> dict[str, np.ndarray]:
        skills = [record.provenance.skill for record in self.records]
        return {
            skill: np.flatnonzero([s == skill for s in skills])
            for skill in {s for s in skills if s is not None}
        }

    def _computed_likeness(self, text: str) -> np.ndarray:
        likeness: np.ndarray = self._similarity.to([text])[0].astype(np.float32)
        return likeness

    @cached_property
    def _similarity(self) -> TextSimilarity:
        questions = [question_of(record) for record in self.records]
        template = self._task.domain.prompt_template
        return TextSimilarity([template.instruction_in(question) for question in questions])


def question_of(record: PromptedDatum) -> str:
    """The record's question, or the first message of its conversation."""
    match record:
        case ChatDatum() | ScoredDatum() | PreferenceDatum(messages=(_, *_)):
            return record.messages[0].content
        case _:
            return record.prompt[-1].content


def _read(path: Path) -> list[PromptedDatum]:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r} with records (JSONL)")
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            records.append(_parsed(line, f"{path}, line {number}"))
    return records


def _parsed(line: bytes, where: str) -> PromptedDatum:
    try:
        record: TrainingDatum = parse_training_datum(orjson.loads(line))
    except (orjson.JSONDecodeError, InvalidRecordError) as error:
        raise ConfigurationError(f"{where} is not a training record: {error}") from error
    if not isinstance(record, PromptedDatum):
        raise ConfigurationError(
            f"{where} is a record of kind {record.kind!r}, expected one with an instruction: "
            "supervised, chat, preference, kto or scored"
        )
    return record
