"""LLaMA-Factory dataset folders, read as streams of training records; and files of SDPO's code."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dataenvgym import exact_json
from dataenvgym.errors import DatasetFormatError, InvalidRecordError, did_you_mean, shorten
from dataenvgym.records import (
    ChatDatum,
    PreferenceDatum,
    ScoredDatum,
    TrainingDatum,
    parse_training_datum,
)
from dataenvgym.storage import encoding_fault
from dataenvgym.students.llama_factory.entries import DatasetEntry
from dataenvgym.students.llama_factory.parsing import parse_row

DATASET_INFO = "dataset_info.json"


def read_dataset(folder: Path, names: str) -> Iterator[TrainingDatum]:
    """The records of one dataset, or of several with commas between their names (option `dataset`).

    Files are JSON objects, read as a stream, or a JSON array, which is read whole. Columns may have
    any name that `dataset_info.json` explains. In the formatting "openai", turns have OpenAI's
    names unless `tags` give others; text beside `tool_calls` is kept, which LLaMA-Factory drops,
    and its "detailed thinking off" is not added to the system message.

    Raises:
        DatasetFormatError: naming file and line, the value found and the one expected.
    """
    info = read_info(folder)
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


def read_info(folder: Path) -> dict[str, Any]:
    """The entries in a folder's `dataset_info.json`.

    Raises:
        DatasetFormatError: if there is no such file, or not an object in it.
    """
    path = folder / DATASET_INFO
    try:
        info = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DatasetFormatError(f"{path}: no such file, expected the datasets' entries") from None
    except (ValueError, RecursionError) as error:
        raise DatasetFormatError(f"{path}: {error}, expected JSON") from None
    if not isinstance(info, dict):
        raise DatasetFormatError(
            f"{path}: found {shorten(repr(info))}, expected an object of entries"
        )
    return info


def read_sdpo_pairs(path: Path) -> Iterator[PreferenceDatum]:
    """The pairs in a file of SDPO's code, in which each better dialogue follows the worse one.

    The prompt of a pair is what both dialogues have in common; the rest of each is its answer.

    Raises:
        DatasetFormatError: naming file and row, the value found and the one expected.
    """
    rows = list(_read_rows(path))
    if len(rows) % 2:
        raise DatasetFormatError(
            f"{path}: found {len(rows)} dialogues, expected an even number: a worse one, and the "
            "better one after it"
        )
    for (where, worse), (_, better) in zip(rows[::2], rows[1::2], strict=True):
        try:
            yield _pair_of(*(parse_row(row, _DIALOGUE) for row in (worse, better)))
        except (DatasetFormatError, InvalidRecordError) as error:
            raise DatasetFormatError(f"{path}, {where}: {error}") from None


_DIALOGUE = DatasetEntry.parse(
    {"file_name": "-", "formatting": "sharegpt", "columns": {"messages": "conversations"}}
)


def _pair_of(worse: TrainingDatum, better: TrainingDatum) -> PreferenceDatum:
    """The pair of two whole dialogues."""
    assert isinstance(worse, ChatDatum | ScoredDatum)
    assert isinstance(better, ChatDatum | ScoredDatum)
    both = list(zip(worse.messages, better.messages, strict=False))
    at = next((i for i, (one, other) in enumerate(both) if one != other), len(both))
    if at == len(both) or both[at][0].role != "assistant" or worse.system != better.system:
        raise DatasetFormatError(
            f"the dialogue and the next one have {at} equal turns, expected that they first differ "
            "in a turn of the assistant"
        )
    record = parse_training_datum(
        {
            "kind": "preference",
            "system": worse.system,
            "messages": worse.messages[:at],
            "chosen": better.messages[at:],
            "rejected": worse.messages[at:],
        }
    )
    assert isinstance(record, PreferenceDatum)
    return record


def _files(path: Path) -> list[Path]:
    """The files of a dataset, whose `file_name` may be a folder."""
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
        beginning = stream.read(1024)
        stream.seek(len(BOM_UTF8) if beginning.startswith(BOM_UTF8) else 0)
        if beginning.removeprefix(BOM_UTF8).lstrip().startswith(b"["):
            rows = _loads(stream.read(), f"{path}")
            yield from ((f"item {i}", row) for i, row in enumerate(rows, start=1))
            return
        lines = enumerate(stream, start=1)
        for number, line in lines:
            if line.rstrip() == b"{":  # an object in several lines
                parts = [line]
                while not parts[-1].startswith(b"}") and (more := next(lines, None)):
                    parts.append(more[1])
                line = b"".join(parts)
            if line.strip():
                yield f"line {number}", _loads(line, f"{path}, line {number}")


def _loads(text: bytes, where: str) -> Any:
    try:
        return exact_json.loads(text)
    except ValueError as error:
        why = encoding_fault(text) or error
        raise DatasetFormatError(f"{where}: {why}, expected JSON") from None
