"""LLaMA-Factory dataset folders: `dataset_info.json` and beside it one file for each dataset.

Writing streams: records may come from a generator, and memory stays constant however many there
are. The rows' file appears whole, and before the entry that names it.

A file is written in the alpaca formatting, unless it holds chat or scored records, or unless the
loader would take a column of it for something else than text (see `column_types`); then all of it
is in the sharegpt formatting, which means the same to LLaMA-Factory. Which one depends on the
records alone, and so do the bytes of the files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from dataenvgym import storage
from dataenvgym.errors import (
    ConfigurationError,
    DatasetFormatError,
    InvalidRecordError,
    did_you_mean,
)
from dataenvgym.llama_factory.column_types import ColumnTypes
from dataenvgym.llama_factory.entries import DatasetEntry, Formatting, Stage, dataset_info_entry
from dataenvgym.llama_factory.formats import KINDS, as_sharegpt, row_maker, stage_of, wrong_kind
from dataenvgym.llama_factory.parsing import parse_row
from dataenvgym.llama_factory.turns import shown
from dataenvgym.records import TrainingDatum
from dataenvgym.secrets import are_known, redact_bytes
from dataenvgym.tool_formats import LLAMA_FACTORY, ToolFormat

DATASET_INFO = "dataset_info.json"


@dataclass(frozen=True)
class WrittenDataset:
    """A dataset that was written, as the training's configuration needs it.

    Attributes:
        folder: the folder with `dataset_info.json` (option `dataset_dir`).
        name: the dataset's name in there (option `dataset`).
        stage: the stage that trains on it (option `stage`).
        formatting: of its rows.
        count: number of its rows.
    """

    folder: Path
    name: str
    stage: Stage
    formatting: Formatting
    count: int


def write_dataset(
    folder: Path,
    records: Iterable[TrainingDatum],
    *,
    name: str | None = None,
    tool_format: ToolFormat = LLAMA_FACTORY,
) -> WrittenDataset:
    """Write the records, in their order, as a dataset that LLaMA-Factory can train on.

    Scored records make a dataset of the same form, which only the in-process trainer learns from.

    Args:
        folder: made if it is not there; entries of other datasets in it stay.
        records: one at least, all of one stage; taken one by one.
        name: of the dataset and, with ".jsonl", of its file; "custom_<stage>_dataset" by default.
        tool_format: writes tools and calls as text.

    Raises:
        ConfigurationError: no records, records of more than one stage, or a name that
            LLaMA-Factory cannot be told.
        DatasetFormatError: the folder has a `dataset_info.json` that is none.
    """
    records = iter(records)
    first = next(records, None)
    if first is None:
        raise ConfigurationError("there are no records to train on, expected one at least")
    stage = stage_of(first)
    name = f"custom_{stage}_dataset" if name is None else name
    if not name or name != name.strip() or set(name) & set(",/\\"):
        raise ConfigurationError(
            f"the dataset's name is {name!r}, expected one without commas, slashes or outer spaces"
        )
    info = _read_info(folder) if (folder / DATASET_INFO).exists() else {}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    formatting, count = _write_rows(path, chain([first], records), stage, tool_format)
    info[name] = dataset_info_entry(stage, formatting, path.name)
    # ASCII: LLaMA-Factory opens this file with whatever encoding its machine is set to
    storage.write_text(folder / DATASET_INFO, json.dumps(info, indent=2) + "\n")
    return WrittenDataset(folder, name, stage, formatting, count)


def read_dataset(folder: Path, names: str) -> Iterator[TrainingDatum]:
    """The records of one dataset, or of several named with commas between (option `dataset`).

    Files are JSON lines, read as a stream, or a JSON array, which is read whole. Columns may be
    called anything that `dataset_info.json` explains.

    Raises:
        DatasetFormatError: naming file and line, what was found there and what was expected.
    """
    info = _read_info(folder)
    for name in (part.strip() for part in names.split(",")):
        if name not in info:
            raise DatasetFormatError(
                f"{folder / DATASET_INFO}: no dataset {name!r} there, expected one of "
                f"{sorted(info)}.{did_you_mean(name, info)}"
            )
        try:
            entry = DatasetEntry.parse(info[name])
        except DatasetFormatError as error:
            raise DatasetFormatError(f"{folder / DATASET_INFO}, {name!r}: {error}") from None
        for path in _files(folder / entry.file_name):
            for where, row in _read_rows(path):
                try:
                    yield parse_row(row, entry)
                except (DatasetFormatError, InvalidRecordError) as error:
                    raise DatasetFormatError(f"{path}, {where}: {error}") from None


# --- writing --------------------------------------------------------------------------------------


def _write_rows(
    path: Path, records: Iterable[TrainingDatum], stage: Stage, tool_format: ToolFormat
) -> tuple[Formatting, int]:
    """Write the records' rows to `path`; the formatting that they have, and their number."""
    temporary = path.with_name(f".{path.name}.tmp")
    other = path.with_name(f".{path.name}.sharegpt.tmp")
    try:
        kinds, wrong, count = _write_natural_rows(temporary, records, stage, tool_format)
        conversations = kinds == {"chat"} or kinds == {"scored"}
        formatting: Formatting = "sharegpt" if conversations else "alpaca"
        if len(kinds) > 1 or (wrong and kinds <= {"supervised", "preference", "kto"}):
            formatting = "sharegpt"
            wrong = _write_sharegpt_rows(other, temporary)
            other.replace(temporary)
        if wrong:
            raise ConfigurationError(
                f"the first texts in {wrong} all look like dates, and LLaMA-Factory's loader would "
                "read timestamps there; put some in words, or records of another sort before them"
            )
        temporary.replace(path)
        return formatting, count
    finally:
        temporary.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


def _write_natural_rows(
    path: Path, records: Iterable[TrainingDatum], stage: Stage, tool_format: ToolFormat
) -> tuple[set[str], list[str], int]:
    """Write each record as its kind is by nature; the kinds, the wrong columns and the number."""
    kinds: set[str] = set()
    kind = ""
    types = ColumnTypes()
    dumps, newline = orjson.dumps, orjson.OPT_APPEND_NEWLINE
    index = -1
    hides = are_known()
    with path.open("wb") as stream:
        for index, record in enumerate(records):
            if record.kind != kind:
                kind = record.kind
                if kind not in KINDS[stage]:
                    raise wrong_kind(kind, stage, index)
                kinds.add(kind)
                row_of = row_maker(record.kind, tool_format)
                # rows of several kinds are written once more, and watched then; the loader sees
                # no scored ones
                types.watching &= len(kinds) == 1 and stage != "scored"
            row = row_of(record)
            line = dumps(row, option=newline)
            if hides:
                line = redact_bytes(line)
            stream.write(line)
            if types.watching:
                types.see(row, len(line))
        _sync(stream)
    return kinds, types.wrong(), index + 1


def _write_sharegpt_rows(path: Path, source: Path) -> list[str]:
    """Write the rows in `source` to `path`, all in the sharegpt formatting; the wrong columns."""
    types = ColumnTypes()
    with path.open("wb") as stream:
        for value in storage.read_jsonl(source):
            row = value if "conversations" in value else as_sharegpt(value)
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
            stream.write(line)
            if types.watching:
                types.see(row, len(line))
        _sync(stream)
    return types.wrong()


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


# --- reading --------------------------------------------------------------------------------------


def _read_info(folder: Path) -> dict[str, Any]:
    path = folder / DATASET_INFO
    try:
        info = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DatasetFormatError(f"{path}: no such file, expected the datasets' entries") from None
    except ValueError as error:
        raise DatasetFormatError(f"{path}: {error}, expected JSON") from None
    if not isinstance(info, dict):
        raise DatasetFormatError(f"{path}: found {shown(info)}, expected an object of entries")
    return info


def _files(path: Path) -> list[Path]:
    """The files of a dataset, whose `file_name` may be a folder's."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    for file in files:
        if file.suffix not in (".json", ".jsonl"):
            raise DatasetFormatError(f"{file}: expected a .json or .jsonl file")
        if not file.is_file():
            raise DatasetFormatError(f"{file}: no such file, expected the rows there")
    return files


def _read_rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each row of the file, and its place."""
    with path.open("rb") as stream:
        beginning = stream.read(1024).lstrip()
        stream.seek(0)
        if beginning.startswith(b"["):
            rows = _loads(stream.read(), f"{path}")
            yield from ((f"item {i}", row) for i, row in enumerate(rows, start=1))
            return
        for number, line in enumerate(stream, start=1):
            if line.strip():
                yield f"line {number}", _loads(line, f"{path}, line {number}")


def _loads(text: bytes, where: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise DatasetFormatError(f"{where}: {error}, expected JSON") from None
