"""A pool of finished records for engines to select from or rewrite: a file or a train split."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dataenvgym import exact_json
from dataenvgym.agents.engines.gold import gold_records
from dataenvgym.environments.checks import ACCEPTED
from dataenvgym.errors import ConfigurationError, InvalidRecordError
from dataenvgym.interfaces import PredictorInterface
from dataenvgym.records import (
    KTODatum,
    PreferenceDatum,
    SupervisedDatum,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.records.plans import Assignment, Plan
from dataenvgym.tasks.base import Task

_DIMENSIONS = 2**18
_TOKEN = re.compile(r"[0-9]+(?:[.,][0-9]+)*|[^\W\d_]+|[^\w\s]")


class TextSimilarity:
    """Cosine similarities between a fixed collection of texts and other texts.

    Document frequencies of the collection set the weights: rare n-grams weigh more.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        counts = _counts(texts)
        documents = np.bincount(counts.indices, minlength=_DIMENSIONS)
        self._weights = np.log((1 + len(texts)) / (1 + documents)) + 1.0
        self._columns = self._normalized(counts).T.tocsr()

    def to(self, texts: Sequence[str]) -> np.ndarray:
        """Cosines from 0 to 1, of shape (len(texts), size of the collection)."""
        dense: np.ndarray = (self._normalized(_counts(texts)) @ self._columns).toarray()
        return dense

    def _normalized(self, counts: Any) -> Any:
        """Weight the counts, and scale each row to length 1 (an empty row stays empty)."""
        values = counts.data * self._weights[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=counts.shape[0]))
        counts.data = values / lengths[rows]
        return counts


def _counts(texts: Sequence[str]) -> Any:
    """Count the 1- to 3-grams of each text, as a sparse matrix (len(texts), dimensions).

    A number, or a row of numbers, counts as the word 0.
    """
    from scipy import sparse

    columns: list[int] = []
    values: list[int] = []
    ends = [0]
    for text in texts:
        found = _TOKEN.findall(text.casefold())
        words = ["0" if token[0].isdigit() else token for token in found]
        words = [w for i, w in enumerate(words) if w != "0" or i == 0 or words[i - 1] != "0"]
        counted = Counter(
            zlib.crc32(" ".join(words[i : i + n]).encode()) % _DIMENSIONS
            for n in (1, 2, 3)
            for i in range(len(words) - n + 1)
        )
        columns += counted.keys()
        values += counted.values()
        ends.append(len(columns))
    shape = (len(texts), _DIMENSIONS)
    return sparse.csr_matrix((np.array(values, float), columns, ends), shape=shape)


class RecordPool:
    """Records by position; finds those that fit an assignment.

    Args:
        task: its train split, with gold answers, is the pool if there is no file.
        path: a JSONL file of records, or a run's `records.jsonl`, whose accepted ones count; or
            None. A record without its own system message and earlier turns gets the task's prompt.

    Attributes:
        taken: positions of the records that were taken; each is taken only once.
    """

    def __init__(self, task: Task, path: str | Path | None = None) -> None:
        self._task = task
        self._path = None if path is None else Path(path).expanduser()
        self.taken: set[int] = set()
        self._likeness_to = lru_cache(maxsize=512)(
            lambda text: self._similarity.to([text])[0].astype(np.float32)
        )

    def prepare(self) -> None:
        """Make sure that there is a pool; ConfigurationError if it is missing or unusable."""
        _ = self.records if self._path else self._task.on("train").instances

    @cached_property
    def records(self) -> tuple[TrainingDatum, ...]:
        """All of them, loaded once."""
        found: list[TrainingDatum] = []
        if self._path is None:
            found += gold_records(self._task, self._task.on("train").instances)
        for record in _read(self._path) if self._path else ():
            if isinstance(record, SupervisedDatum):
                record = self._task.frame(record)
            elif isinstance(record, PreferenceDatum | KTODatum):
                template = self._task.domain_of(record.provenance).prompt_template
                record = template.frame(record)
            found.append(record)
        if not found:
            source = self._path or "the task's train split"
            raise ConfigurationError(f"the pool is empty: found no usable records in {source}")
        return tuple(found)

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
                f"examples of it. It has: {', '.join(self.skills) or 'none with a skill'}"
            )
        return positions

    def likeness_to(self, position: int) -> np.ndarray:
        """The similarity of each record's question to that of one of them (size,)."""
        similarity: np.ndarray = self._likeness_to(self._question(self.records[position]))
        return similarity

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

    @cached_property
    def _similarity(self) -> TextSimilarity:
        return TextSimilarity([self._question(record) for record in self.records])

    def _question(self, record: TrainingDatum) -> str:
        template = self._task.domain_of(record.provenance).prompt_template
        return template.instruction_in(record.question)


class Candidates(NamedTuple):
    """What a selection is asked about.

    Attributes:
        pool: the records.
        plan: assignments to select for.
        positions: of the candidates in the pool, for each assignment.
        student: may be asked.
        rng: of all random choices.
    """

    pool: RecordPool
    plan: Plan
    positions: Sequence[np.ndarray]
    student: PredictorInterface
    rng: np.random.Generator

    def with_chance(self, values: np.ndarray, width: float) -> list[np.ndarray]:
        """The values of each assignment's candidates, plus less than `width`, to break ties."""
        return [values[some] + self.rng.uniform(0, width, len(some)) for some in self.positions]


def _read(path: Path) -> list[TrainingDatum]:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {str(path)!r} with records (JSONL)")
    records: list[TrainingDatum] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            value = exact_json.loads(line)
            if isinstance(value, dict) and "verdict" in value:  # a row of a run
                if value["verdict"] != ACCEPTED:
                    continue
                value = value.get("record")
            record = parse_training_datum(value)
        except (exact_json.JSONDecodeError, InvalidRecordError) as error:
            raise ConfigurationError(f"{where} is not a training record: {error}") from error
        if record.kind == "text":
            raise ConfigurationError(
                f"{where} is a record of kind {record.kind!r}, expected one with an instruction: "
                "supervised, chat, preference, kto or scored"
            )
        records.append(record)
    return records
