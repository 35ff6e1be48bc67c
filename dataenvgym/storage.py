"""Writes files atomically.

A file is first written under a temporary name and then renamed, so a killed process leaves the old
file or the new one, and perhaps a hidden temporary file that no code reads. Directories are
published in the same way (`publishing`). The process that holds a folder's lock may remove
temporary files of killed processes (`remove_temporaries`). Secrets are redacted in text and JSON
(see `secrets`), not in bytes. On a disk that is read-only, writing what is there already does
nothing, so that a finished command shows its results again.

Another person may have written a file that is read. So only regular files are opened, and their
size is limited where a file, or a line of it, is read as a whole (`open_file`, `read_bytes`).
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from dataenvgym import exact_json
from dataenvgym.errors import BrokenFileError, DataEnvGymError, RunDirectoryError, first_fault
from dataenvgym.events import redact, redact_bytes

T = TypeVar("T")

RESTORE = "restore it, or start the run over"
"""What to do about a damaged file, for messages."""

FULL = (errno.ENOSPC, errno.EDQUOT)
"""errno values that mean a full disk."""
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)

LARGEST = 2**28
"""The most bytes of a JSON file, and of a line of JSON lines."""
_LARGEST_YAML, _MOST_EVENTS, _DEEPEST, _MOST_REFERENCES = 2**20, 20_000, 100, 1000
"""Limits of a YAML file: OmegaConf reads one of this size in a few seconds."""


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data`, atomically; parent folders are created."""
    with _replacing(path) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in UTF-8, atomically."""
    write_bytes(path, redact(text).encode())


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value`, with data models in it, as indented JSON, atomically."""
    plain = partial(to_jsonable_python, by_alias=False)
    data = exact_json.dumps(value, plain, exact_json.INDENT_2)
    write_bytes(path, redact_bytes(data) + b"\n")


def open_file(path: Path) -> BufferedReader:
    """Open a file to read; BrokenFileError for a folder, a device, or a pipe without an end."""
    if os.path.lexists(path) and not path.is_file():
        raise BrokenFileError(f"{path} is damaged: it is a folder, a pipe or a device")
    return path.open("rb")


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """Read a whole file; BrokenFileError as `open_file`, and if it has more bytes than `most`."""
    with open_file(path) as stream:
        if (size := os.fstat(stream.fileno()).st_size) > most:
            raise BrokenFileError(
                f"{path} is damaged: it has {size} bytes, expected {most} at most"
            )
        return stream.read()


def read_lines(path: Path) -> Iterator[bytes]:
    """Read the lines of a file; BrokenFileError as `read_bytes`, for each line."""
    with open_file(path) as stream:
        while line := stream.readline(LARGEST):
            if len(line) == LARGEST:
                raise BrokenFileError(f"{path} is damaged: a line has {LARGEST} bytes or more")
            yield line


def read_yaml(path: Path) -> str:
    """Read the text of a YAML file that we wrote, after checking that it is quick to parse.

    Raises:
        BrokenFileError: as `read_bytes`; if it has too many values or references, too deep ones, or
            an alias, which may repeat values without end.
    """
    import yaml

    text = read_bytes(path, _LARGEST_YAML).decode()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth, is_quick = 0, text.count("${") <= _MOST_REFERENCES
    for number, event in enumerate(yaml.parse(text, Loader=loader)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        is_quick &= number < _MOST_EVENTS and depth <= _DEEPEST
        if not is_quick or isinstance(event, yaml.AliasEvent):
            raise BrokenFileError(f"{path} is damaged: it has aliases, or too many or deep values")
    return text


def read_json(path: Path) -> Any:
    """Read the JSON value in `path`; BrokenFileError if the file is not JSON."""
    return _loads(read_bytes(path), str(path))


def write_jsonl(path: Path, values: Iterable[Any]) -> int:
    """Replace `path` by JSON lines, atomically and streaming; return the number of lines.

    A value may be a data model: pydantic writes the same bytes, and needs no dictionary in between.
    """
    count = 0
    with _replacing(path) as stream:
        for value in values:
            if isinstance(value, BaseModel):
                value = exact_json.Fragment(value.model_dump_json())
            stream.write(redact_bytes(exact_json.dumps(value, option=exact_json.APPEND_NEWLINE)))
            count += 1
    return count


def read_jsonl(path: Path) -> Iterator[Any]:
    """Read the JSON values in `path`, one per line; skip empty lines.

    Raises:
        BrokenFileError: names the first line that is not JSON.
    """
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            yield _loads(line, f"{path}, line {number},")


def _loads(data: bytes, where: str) -> Any:
    try:
        return exact_json.loads(data)
    except exact_json.JSONDecodeError as error:
        why = encoding_fault(data) or error
        raise BrokenFileError(f"{where} is damaged: it is not JSON ({why})") from error


def encoding_fault(data: bytes) -> str | None:
    """The encoding of a text, and what to do, if it is not UTF-8; else None."""
    has_zeros = len(data) > 3 and any(data[:8:2]) != any(data[1:8:2])
    name = "UTF-16" if has_zeros or data.startswith((b"\xff\xfe", b"\xfe\xff")) else None
    try:
        data.decode()
    except UnicodeDecodeError as error:
        is_cut = error.reason == "unexpected end of data"
        name = name or (None if is_cut else "Latin-1")
    return name and f"the file seems to be in {name}, expected UTF-8: iconv -f {name} -t UTF-8 FILE"


def read_model(
    path: Path,
    kind: type[T],
    way_out: str = RESTORE,
    raising: type[DataEnvGymError] = RunDirectoryError,
) -> T:
    """Read a JSON file as a model, or any other type that pydantic validates.

    Args:
        way_out: what to do about a missing or damaged file, for the message.
        raising: the class of the error.

    Raises:
        RunDirectoryError: names the file, the first fault, and the way out.
    """
    with naming_damage(path, way_out, raising):
        return TypeAdapter(kind).validate_python(read_json(path))


def read_models(
    path: Path,
    kind: type[T],
    way_out: str = RESTORE,
    raising: type[DataEnvGymError] = RunDirectoryError,
) -> list[T]:
    """Read JSON lines as models; the error of `read_model` also names the line."""
    adapter, found = TypeAdapter(kind), list[T]()
    try:
        for value in read_jsonl(path):
            found.append(adapter.validate_python(value))
    except (FileNotFoundError, ValueError) as error:
        is_line = isinstance(error, ValidationError)
        where = Path(f"{path}, line {len(found) + 1},") if is_line else path
        with naming_damage(where, way_out, raising):
            raise
    return found


@contextmanager
def naming_damage(
    path: Path, way_out: str = RESTORE, raising: type[DataEnvGymError] = RunDirectoryError
) -> Iterator[None]:
    """Turn errors of reading a file into one that names it and says what to do.

    Raises:
        RunDirectoryError: in place of FileNotFoundError, and of any ValueError, such as those of
            broken JSON and models.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise raising(f"{path} is missing; {way_out}") from error
    except BrokenFileError as error:  # it names the file and the line
        raise raising(f"{error}; {way_out}") from error
    except ValueError as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else str(error)
        raise raising(f"{path} is damaged ({' '.join(fault.split())}); {way_out}") from error


@contextmanager
def publishing(directory: Path) -> Iterator[Path]:
    """Make a new folder to fill, and rename it to `directory` if the block ends without an error.

    An existing `directory` is replaced.
    """
    temporary = directory.with_name(f".{directory.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if directory.exists():
            shutil.rmtree(directory)
        temporary.replace(directory)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_folder(directory: Path) -> None:
    """Remove a folder atomically: a kill never leaves half of it under its name."""
    remove_leftover(directory)
    gone = _removed(directory)
    directory.replace(gone)
    shutil.rmtree(gone)


def remove_leftover(directory: Path) -> None:
    """Remove the files that a kill during `remove_folder` left beside the folder."""
    shutil.rmtree(_removed(directory), ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """True for this module's hidden temporary files and folders."""
    if path.is_dir() and not path.is_symlink():
        return _TEMPORARY_FOLDER.fullmatch(path.name) is not None
    return _TEMPORARY_FILE.fullmatch(path.name) is not None


def is_empty(directory: Path) -> bool:
    """True if the folder does not exist, or has only temporary files."""
    return not directory.exists() or all(map(is_temporary, directory.iterdir()))


def remove_temporaries(directory: Path, *, below: bool = True) -> None:
    """Remove temporary files of killed processes; the caller must hold the folder's lock.

    Args:
        below: also in its subfolders.
    """
    for path in sorted(directory.rglob("*") if below else directory.iterdir()):
        if is_temporary(path):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with suppress(OSError):  # as of folders
                    path.unlink()


def hash_file(path: Path) -> str:
    """SHA-256 (hex) of the file's contents, read in parts."""
    with open_file(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_files(*paths: Path) -> str:
    """SHA-256 (hex) over the names and contents of files and, in order, of files in folders."""
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            digest.update(f"{file.relative_to(path) if path.is_dir() else file.name}\0".encode())
            digest.update(bytes.fromhex(hash_file(file)))
    return digest.hexdigest()


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that replaces `path` if the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # no other process or thread uses this path
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        stream = temporary.open("wb")
    except OSError as error:
        if error.errno not in _READ_ONLY or not path.is_file():
            raise
        yield (same := BytesIO())
        if same.getvalue() != path.read_bytes():
            raise
        return
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)  # errors of opening a file name it, errors of writing do not
        raise
    finally:
        temporary.unlink(missing_ok=True)


_TEMPORARY_FILE = re.compile(r"\..+\.(\d+-\d+|jsonl|sharegpt)\.tmp")
_TEMPORARY_FOLDER = re.compile(r"\..+\.(tmp|removed|gone)")


def _removed(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.removed")
