"""Rows of problems: from files, folders and named data sets.

A `SourceRow` is a JSON object with an id, the same on every machine, and the place where it was
found, for error messages. `read_rows` takes

    test.jsonl, test.jsonl.gz   one JSON object a line
    test.json                   a JSON array of objects, one object a line, or one object
    MATH/train/                 a folder of files with one JSON object each, at any depth
    HubDataset(...)             a dataset by name, through the `datasets` library, or files of
                                its repository, through `huggingface_hub`
"""

from __future__ import annotations

import gzip
import importlib
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, InvalidInstanceError, first_fault, need
from dataenvgym.records import Model
from dataenvgym.storage import encoding_fault

M = TypeVar("M", bound=BaseModel)


class HubDataset(Model):
    """A dataset by the name that `datasets.load_dataset` knows, or files of its repository.

        HubDataset(dataset="openai/gsm8k", config="main", split="train")
        HubDataset(dataset="codeparrot/apps", files=("train.jsonl",))

    Attributes:
        dataset: e.g. "openai/gsm8k", or a local folder (not with `files`).
        config: name of its configuration, e.g. "main", or None if it has only one.
        split: which of its splits, e.g. "train".
        revision: a commit, tag or branch; pin one to get the same rows tomorrow.
        files: read these files (.jsonl, .jsonl.gz, .json) of its repository instead, in order: for
            datasets with a loading script, which `datasets` no longer runs.
    """

    dataset: str = Field(min_length=1)
    config: str | None = None
    split: str = "train"
    revision: str | None = None
    files: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _split_or_files(self) -> Self:
        if self.files and {"config", "split"} & self.model_fields_set:
            raise ValueError("files are given and config or split too, expected only one of both")
        return self


class UnfitRowError(InvalidInstanceError):
    """A row of a public data set that cannot be judged; its source leaves it out and says so."""


@dataclass(frozen=True)
class SourceRow:
    """One JSON object of a source, its `id` in the source, and the place `where` it was found."""

    id: str
    where: str
    values: dict[str, Any]

    def first(self, fields: Sequence[str], hint: str = "") -> str:
        """The first of these fields that the row has; InvalidInstanceError if it has none."""
        if (found := next((f for f in fields if self.values.get(f) is not None), None)) is None:
            raise InvalidInstanceError(
                f"{self.where}: the fields are {', '.join(self.values) or 'none'}, expected "
                f"{' or '.join(fields)}{hint}"
            )
        return found

    def fault(self, field: str, wanted: str) -> InvalidInstanceError:
        """The error for a field that is not as wanted."""
        value = self.values.get(field)
        found = f"{type(value).__name__} {value!r:.80}" if field in self.values else "nothing"
        return InvalidInstanceError(
            f"{self.where}, field {field!r}: found {found}, expected {wanted}"
        )


def parsed(
    kind: type[M], values: Any, where: str, refusal: type[Exception] = InvalidInstanceError
) -> M:
    """The values as a model of that kind.

    Raises:
        refusal: naming the place and the field.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise refusal(f"{where}, {first_fault(error)}") from None


def read_rows(source: Path | HubDataset) -> Iterator[SourceRow]:
    """The rows of a source, in its own order (a folder's: by path).

    Raises:
        ConfigurationError: if the source does not exist or cannot be loaded.
        InvalidInstanceError: if a row is not a JSON object, naming file and line.
    """
    if isinstance(source, HubDataset):
        return _from_hub(source)
    if not source.exists():
        error = ConfigurationError(
            f"there is no file or folder {str(source)!r}, expected one with problems, such as "
            "problems.jsonl"
        )
        need(error)
        raise error
    if source.is_dir():
        return _from_folder(source)
    return _from_file(source, source_name(source), str(source))


def source_name(source: Path | HubDataset) -> str:
    """A short name of the source, without suffixes; the ids of its rows begin with it."""
    if isinstance(source, HubDataset):
        part = "+".join(source_name(Path(file)) for file in source.files) or source.split
        return f"{source.dataset.rstrip('/').rsplit('/', 1)[-1]}-{part}"
    return source.name.removesuffix(".gz").removesuffix(".jsonl").removesuffix(".json")


def _from_file(path: Path, name: str, where: str) -> Iterator[SourceRow]:
    if path.suffix == ".json":
        return _from_array(path, name, where)
    if path.suffixes[-1:] == [".jsonl"] or path.suffixes[-2:] == [".jsonl", ".gz"]:
        return rows_of_lines(path, name, where)
    raise ConfigurationError(
        f"{where!r} ends in {path.suffix!r}, expected .jsonl, .jsonl.gz, .json or a folder"
    )


def rows_of_lines(path: Path, name: str, where: str) -> Iterator[SourceRow]:
    """The JSON objects of a file with one object a line.

    Args:
        name: the prefix of their ids.
        where: the file, for messages.

    Raises:
        InvalidInstanceError: if a line is not a JSON object, naming file and line; or if the file
            is not whole.
    """
    try:
        if path.suffix == ".gz" and not path.stat().st_size:  # which gzip accepts
            raise EOFError("it is empty")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if (line := line.removeprefix(BOM_UTF8)).strip():
                    yield _row(f"{name}-{number}", f"{where}:{number}", line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidInstanceError(f"{where} is damaged: {error}") from None


def _from_array(path: Path, name: str, where: str) -> Iterator[SourceRow]:
    try:
        rows = exact_json.loads(path.read_bytes().removeprefix(BOM_UTF8), as_written=True)
    except exact_json.JSONDecodeError:  # one object a line, or none that can be read
        yield from rows_of_lines(path, name, where)
        return
    if isinstance(rows, dict):
        yield SourceRow(name, where, rows)
        return
    if not isinstance(rows, list):
        raise InvalidInstanceError(
            f"{where}: found {type(rows).__name__} {rows!r:.80}, expected an array of objects"
        )
    for number, values in enumerate(rows, start=1):
        yield SourceRow(f"{name}-{number}", f"{where}, item {number}", _object(values, where))


def _from_folder(folder: Path) -> Iterator[SourceRow]:
    files = sorted(folder.rglob("*.json"))
    if not files:
        raise ConfigurationError(f"the folder {str(folder)!r} holds no .json file, at any depth")
    for file in files:
        relative = file.relative_to(folder).with_suffix("").as_posix()
        yield _row(f"{source_name(folder)}/{relative}", str(file), file.read_bytes())


def _from_hub(source: HubDataset) -> Iterator[SourceRow]:
    for file in source.files:
        name = source_name(source.model_copy(update={"files": (file,)}))
        options = {"repo_type": "dataset", "revision": source.revision}
        what = f"file {file!r} of dataset {source.dataset!r}"
        path = _loaded(what, "huggingface_hub.hf_hub_download", source.dataset, file, **options)
        yield from _from_file(Path(path), name, f"{source.dataset}/{file}")
    if source.files:
        return
    where = f"dataset {source.dataset!r}, split {source.split!r}"
    rows = _loaded(
        where,
        "datasets.load_dataset",
        source.dataset,
        source.config,
        split=source.split,
        revision=source.revision,
        trust_remote_code=False,
    )
    for number, values in enumerate(rows, start=1):
        yield SourceRow(f"{source_name(source)}-{number}", f"{where}, row {number}", dict(values))


def _loaded(what: str, function: str, *arguments: Any, **options: Any) -> Any:
    """The result of a function, such as "datasets.load_dataset"; it may raise anything."""
    library, _, name = function.partition(".")
    try:
        return getattr(importlib.import_module(library), name)(*arguments, **options)
    except Exception as error:
        lacking = ConfigurationError(
            f"{what} could not be loaded ({type(error).__name__}: {error}); check names, revision "
            f"and network, run `pip install {library}`, name JSON files of its repository "
            "(`files`), or give the path of a file"
        )
        need(lacking)
        raise lacking from error


def _row(id: str, where: str, data: bytes) -> SourceRow:
    try:
        values = exact_json.loads(data, as_written=True)
    except exact_json.JSONDecodeError as error:
        why = encoding_fault(data) or f"not valid JSON: {error}"
        raise InvalidInstanceError(f"{where}: {why}") from None
    return SourceRow(id, where, _object(values, where))


def _object(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise InvalidInstanceError(
            f"{where}: found {type(values).__name__} {values!r:.80}, expected a JSON object"
        )
    return values
