"""LLaMA-Factory dataset folders: `dataset_info.json`, and next to it one file for each dataset.

Writing streams: records may come from a generator, and memory stays constant. The file with the
rows appears whole, before the entry that names it.

A file is written in the alpaca formatting, with two exceptions: it contains chat or scored records,
or the loader would infer a type other than text for one of its columns (see `ColumnTypes`). Then
all of it is in the sharegpt formatting, which means the same to LLaMA-Factory. The formatting, and
the bytes of the files, depend only on the records.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from dataenvgym import exact_json, storage
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import redact_bytes, secrets_are_known
from dataenvgym.records import TrainingDatum
from dataenvgym.records.tool_formats import LLAMA_FACTORY, ToolFormat
from dataenvgym.students.llama_factory.entries import Formatting, Stage, dataset_info_entry
from dataenvgym.students.llama_factory.formats import (
    KINDS,
    as_segment,
    as_sharegpt,
    row_maker,
    stage_of,
    wrong_kind,
)
from dataenvgym.students.llama_factory.reading import DATASET_INFO, read_info

# Broader than Arrow's own parser: a value that does not match is certainly text.
_LIKE_A_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d")

# Arrow infers from blocks of at least 320 KiB and settles a type after the first 10 MiB.
BEGINNING = 256 * 1024


class ColumnTypes:
    """Observes rows and finds the columns whose type the loader would infer wrongly.

    Attributes:
        watching: False once all columns are known to be right: then `see` need not be called.
    """

    def __init__(self) -> None:
        self.watching = True
        self._doubtful: dict[str, bool] = {}  # column -> whether a row has anything in it
        self._seen = 0

    def see(self, row: Mapping[str, Any], size: int) -> None:
        """Observe the next row, which is `size` bytes long."""
        if self._seen >= BEGINNING:
            for name in self._doubtful:
                if row[name]:
                    self._doubtful[name] = True
            return
        if not self._seen:
            self._doubtful = {k: False for k, value in row.items() if not isinstance(value, bool)}
        self._seen += size
        for name in tuple(self._doubtful):
            texts = list(_texts(row[name]))
            if any(_LIKE_A_TIMESTAMP.match(text) is None for text in texts):
                del self._doubtful[name]
            elif texts:
                self._doubtful[name] = True
        self.watching = bool(self._doubtful)

    def wrong(self) -> list[str]:
        """Names of the columns whose type the loader would infer wrongly, given all rows seen."""
        return sorted(name for name, filled in self._doubtful.items() if filled)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a column's value; in a turn ({"from": ..., "value": ...}), its value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield value["value"]
    else:
        for item in value:
            yield from _texts(item)


@dataclass(frozen=True)
class WrittenDataset:
    """A written dataset, with the values for the training's configuration.

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
    """Write the records, in order, as a dataset for LLaMA-Factory.

    Scored records make a dataset of the same form, from which only our trainers learn.

    Args:
        folder: made if it does not exist; entries of other datasets in it are kept.
        records: at least one, all of one stage; taken one by one.
        name: of the dataset and, with ".jsonl", of its file; "custom_<stage>_dataset" by default.
        tool_format: writes tools and calls as text.

    Raises:
        ConfigurationError: for no records, for records of more than one stage, or for a name that
            LLaMA-Factory cannot use.
        DatasetFormatError: if the folder has an invalid `dataset_info.json`.
    """
    records = iter(records)
    first = next(records, None)
    if first is None:
        raise ConfigurationError("there are no records to train on, expected at least one")
    stage = stage_of(first)
    name = f"custom_{stage}_dataset" if name is None else name
    if not name or name != name.strip() or set(name) & set(",/\\"):
        raise ConfigurationError(
            f"the dataset's name is {name!r}, expected one without commas, slashes or outer spaces"
        )
    info = read_info(folder) if (folder / DATASET_INFO).exists() else {}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    formatting, count = _write_rows(path, chain([first], records), stage, tool_format)
    info[name] = dataset_info_entry(stage, formatting, path.name)
    # ASCII: LLaMA-Factory opens this file with the encoding that its machine is set to
    storage.write_text(folder / DATASET_INFO, json.dumps(info, indent=2) + "\n")
    return WrittenDataset(folder, name, stage, formatting, count)


def _write_rows(
    path: Path, records: Iterable[TrainingDatum], stage: Stage, tool_format: ToolFormat
) -> tuple[Formatting, int]:
    """Write the records' rows to `path`; return their formatting and number."""
    temporary = path.with_name(f".{path.name}.tmp")
    other = path.with_name(f".{path.name}.sharegpt.tmp")
    try:
        kinds, wrong, count, is_mixed = _write_natural_rows(temporary, records, stage, tool_format)
        if is_mixed:
            with other.open("wb") as stream:
                for row in storage.read_jsonl(temporary):
                    sides = {side: as_segment(row[side]) for side in ("chosen", "rejected")}
                    stream.write(exact_json.dumps(row | sides, option=exact_json.APPEND_NEWLINE))
                _sync(stream)
            other.replace(temporary)
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
) -> tuple[set[str], list[str], int, bool]:
    """Write each record in its kind's own form.

    Returns:
        The kinds, the wrong columns, the number, and whether some answers of pairs are texts and
        others segments: the loader needs one type.
    """
    kinds: set[str] = set()
    kind = ""
    types = ColumnTypes()
    dumps, newline = exact_json.dumps, exact_json.APPEND_NEWLINE
    index = -1
    shapes: set[type] = set()
    hides = secrets_are_known()
    with path.open("wb") as stream:
        for index, record in enumerate(records):
            if record.kind != kind:
                kind = record.kind
                if kind not in KINDS[stage]:
                    raise wrong_kind(kind, stage, index)
                kinds.add(kind)
                row_of = row_maker(record.kind, tool_format)
                # rows of several kinds are written again, and watched then; the loader never
                # reads scored ones
                types.watching &= len(kinds) == 1 and stage != "scored"
            row = row_of(record)
            if kind == "preference":
                shapes |= {type(row["chosen"]), type(row["rejected"])}
            line = dumps(row, option=newline)
            if hides:
                line = redact_bytes(line)
            stream.write(line)
            if types.watching:
                types.see(row, len(line))
        _sync(stream)
    return kinds, types.wrong(), index + 1, len(shapes) > 1


def _write_sharegpt_rows(path: Path, source: Path) -> list[str]:
    """Write the rows in `source` to `path` in the sharegpt formatting; return the wrong columns."""
    types = ColumnTypes()
    with path.open("wb") as stream:
        for value in storage.read_jsonl(source):
            row = value if "conversations" in value else as_sharegpt(value)
            line = exact_json.dumps(row, option=exact_json.APPEND_NEWLINE)
            stream.write(line)
            if types.watching:
                types.see(row, len(line))
        _sync(stream)
    return types.wrong()


def _sync(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())
