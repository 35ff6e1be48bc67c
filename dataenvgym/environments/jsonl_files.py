"""JSONL files of records and of completed instances; errors name a damaged file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import orjson

from dataenvgym.records import CompletedTaskInstance, TrainingDatum, parse_training_datum
from dataenvgym.storage import read_jsonl, write_jsonl
from dataenvgym.workspace import naming_damage


def write_completed(path: Path, completed: Iterable[CompletedTaskInstance]) -> None:
    """Write completed instances, one per line, atomically."""
    # pydantic writes the same bytes as orjson, and needs no dictionary in between
    write_jsonl(path, (orjson.Fragment(c.model_dump_json()) for c in completed))


def read_completed(path: Path) -> list[CompletedTaskInstance]:
    """Read a file that `write_completed` wrote.

    Raises:
        RunDirectoryError: if the file is damaged.
    """
    with naming_damage(path):
        return [CompletedTaskInstance.model_validate(value) for value in read_jsonl(path)]


def read_records_file(path: Path, rows: Iterable[int] | None = None) -> list[TrainingDatum]:
    """Read the training records of a file, or only some rows; errors name a damaged file."""
    with naming_damage(path):
        return _read_rows(path, rows)


def _read_rows(path: Path, rows: Iterable[int] | None) -> list[TrainingDatum]:
    if rows is None:
        return [parse_training_datum(value, index=i) for i, value in enumerate(read_jsonl(path))]
    wanted, last = set(rows := list(rows)), max(rows, default=-1)
    with path.open("rb") as stream:
        lines = islice((line for line in stream if line.strip()), last + 1)
        return [
            parse_training_datum(orjson.loads(line), index=i)
            for i, line in enumerate(lines)
            if i in wanted
        ]
