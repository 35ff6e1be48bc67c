"""Where rows of problems come from: files, folders and named datasets.

A source yields `Row`s: the JSON object, an id that is the same on every machine, and where it was
found, for error messages.

    test.jsonl, test.jsonl.gz   one JSON object a line
    test.json                   a JSON array of objects
    MATH/train/                 a folder of files with one JSON object each, at any depth
    HubDataset(...)             a dataset by name, through the `datasets` library
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from pydantic import Field

from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records import Model


class HubDataset(Model):
    """A dataset by the name that `datasets.load_dataset` knows.

    Attributes:
        dataset: e.g. "openai/gsm8k", or a local folder.
        config: name of its configuration, e.g. "main", or None where it has only one.
        split: which of its splits, e.g. "train".
        revision: a commit, tag or branch; pin one to get the same rows tomorrow.
    """

    dataset: str = Field(min_length=1)
    config: str | None = None
    split: str = "train"
    revision: str | None = None


@dataclass(frozen=True)
class Row:
    """One JSON object of a source, with its `id` in there and `where` it was found."""

    id: str
    where: str
    values: dict[str, Any]


def read_rows(source: Path | HubDataset) -> Iterator[Row]:
    """The rows of a source, in its own order (a folder's: by path).

    Raises:
        ConfigurationError: if there is no such source, or it cannot be loaded.
        InvalidInstanceError: for something that is no JSON object, naming file and line.
    """
    if isinstance(source, HubDataset):
        return _from_hub(source)
    if not source.exists():
        raise ConfigurationError(f"there is no file or folder {str(source)!r}")
    if source.is_dir():
        return _from_folder(source)
    if source.suffix == ".json":
        return _from_array(source)
    if source.suffixes[-1:] == [".jsonl"] or source.suffixes[-2:] == [".jsonl", ".gz"]:
        return _from_lines(source)
    raise ConfigurationError(
        f"{str(source)!r} ends in {source.suffix!r}, expected .jsonl, .jsonl.gz, .json or a folder"
    )


def source_name(source: Path | HubDataset) -> str:
    """A short name for the source, without suffixes, from which the ids of its rows begin."""
    if isinstance(source, HubDataset):
        return f"{source.dataset.rstrip('/').rsplit('/', 1)[-1]}-{source.split}"
    return source.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")


def _from_lines(path: Path) -> Iterator[Row]:
    name = source_name(path)
    with _open(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark
            if line.strip():
                yield _row(f"{name}-{number}", f"{path}:{number}", line)


def _from_array(path: Path) -> Iterator[Row]:
    name = source_name(path)
    rows = _parse(path.read_bytes(), str(path))
    if not isinstance(rows, list):
        raise InvalidInstanceError(f"{path}: found {_kind(rows)}, expected an array of objects")
    for number, values in enumerate(rows, start=1):
        yield Row(f"{name}-{number}", f"{path}, item {number}", _object(values, f"{path}"))


def _from_folder(folder: Path) -> Iterator[Row]:
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise ConfigurationError(f"the folder {str(folder)!r} holds no .json file, at any depth")
    for file in files:
        relative = file.relative_to(folder).with_suffix("").as_posix()
        yield _row(f"{source_name(folder)}/{relative}", str(file), file.read_bytes())


def _from_hub(source: HubDataset) -> Iterator[Row]:
    try:
        import datasets
    except ImportError:
        raise ConfigurationError(
            f"loading {source.dataset!r} by name needs the `datasets` library: "
            "run `pip install datasets`, or give the path of a file"
        ) from None
    where = f"dataset {source.dataset!r}, split {source.split!r}"
    try:
        rows = datasets.load_dataset(
            source.dataset, source.config, split=source.split, revision=source.revision
        )
    except Exception as error:
        raise ConfigurationError(
            f"{where} could not be loaded ({type(error).__name__}: {error}); check the name, the "
            "configuration and the network, or give the path of a file"
        ) from error
    for number, values in enumerate(rows, start=1):
        yield Row(f"{source_name(source)}-{number}", f"{where}, row {number}", dict(values))


def _open(path: Path) -> BinaryIO:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _row(id: str, where: str, data: bytes) -> Row:
    return Row(id, where, _object(_parse(data, where), where))


def _parse(data: bytes, where: str) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidInstanceError(f"{where}: no valid JSON: {error}") from None


def _object(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise InvalidInstanceError(f"{where}: found {_kind(values)}, expected a JSON object")
    return values


def _kind(value: Any) -> str:
    return "a JSON object" if isinstance(value, dict) else f"{type(value).__name__} {value!r:.80}"
