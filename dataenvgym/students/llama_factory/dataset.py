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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from dataenvgym import exact_json, storage
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import redact_bytes, secrets_are_known
from dataenvgym.records import TrainingDatum
from dataenvgym.records.tool_formats import LLAMA_FACTORY, ToolFormat
from dataenvgym.students.llama_factory.entries import (
    DATASET_INFO,
    Formatting,
    Stage,
    dataset_info_entry,
    read_info,
)
from dataenvgym.students.llama_factory.formats import (
    KINDS,
    Row,
    as_segment,
    as_sharegpt,
    row_of,
    stage_of,
)

# Broader than Arrow's own parser: a value that does not match is certainly text.
_LIKE_A_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d")

# Arrow infers from blocks of at least 320 KiB and settles a type after the first 10 MiB.
BEGINNING = 256 * 1024
_SIDES = ("chosen", "rejected")


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
        ConfigurationError: for records of more than one stage.
        DatasetFormatError: if the folder has an invalid `dataset_info.json`.
    """
    records = iter(records)
    first = next(records)
    stage = stage_of(first)
    name = f"custom_{stage}_dataset" if name is None else name
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
    kinds: Counter[str] = Counter()
    shapes: set[type] = set()  # of the answers of pairs
    types = ColumnTypes()

    def in_own_form() -> Iterator[Row]:
        for index, record in enumerate(records):
            if record.kind not in KINDS[stage]:
                raise ConfigurationError(
                    f"record {index} is of kind {record.kind!r}, and the first one is for stage "
                    f"{stage!r}: LLaMA-Factory trains one stage at a time, so train on the records "
                    "of each stage one after the other"
                )
            kinds[record.kind] += 1
            # rows of several kinds are written again, and watched then; the loader never reads
            # scored ones
            types.watching &= len(kinds) == 1 and stage != "scored"
            row = row_of(record, tool_format)
            shapes.update(type(row[side]) for side in _SIDES if side in row)
            yield row

    try:
        _write(temporary, in_own_form(), types)
        if len(shapes) > 1:  # texts and segments: the loader needs one type
            rows = storage.read_jsonl(temporary)
            alike = (row | {side: as_segment(row[side]) for side in _SIDES} for row in rows)
            _write(other, alike, ColumnTypes())
            other.replace(temporary)
        conversations = kinds.keys() in ({"chat"}, {"scored"})
        formatting: Formatting = "sharegpt" if conversations else "alpaca"
        if len(kinds) > 1 or (
            types.wrong() and kinds.keys() <= {"supervised", "preference", "kto"}
        ):
            formatting, types = "sharegpt", ColumnTypes()
            rows = storage.read_jsonl(temporary)
            _write(other, (r if "conversations" in r else as_sharegpt(r) for r in rows), types)
            other.replace(temporary)
        if wrong := types.wrong():
            raise ConfigurationError(
                f"the first texts in {wrong} all look like dates, and LLaMA-Factory's loader would "
                "read timestamps there; put some in words, or records of another sort before them"
            )
        temporary.replace(path)
        return formatting, kinds.total()
    finally:
        temporary.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


def _write(path: Path, rows: Iterable[Row], types: ColumnTypes) -> None:
    """Write rows, which `types` sees as long as it watches."""
    hides = secrets_are_known()
    with path.open("wb") as stream:
        for row in rows:
            line = exact_json.dumps(row, option=exact_json.APPEND_NEWLINE)
            line = redact_bytes(line) if hides else line
            stream.write(line)
            if types.watching:
                types.see(row, len(line))
        stream.flush()
        os.fsync(stream.fileno())
