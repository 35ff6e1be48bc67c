"""Files: they appear whole or not at all.

Whatever other code may read is first written beside its place and then renamed into it, so that
a killed process leaves either the old file, the new one, or a hidden temporary one that nobody
reads. Directories are published the same way (`publishing`). Text and JSON are redacted on their
way (see `secrets`); bytes are written as they are.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from dataenvgym.secrets import redact, redact_bytes

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What a disk without room is told by."""


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data`, atomically; parent folders are created."""
    with _replacing(path) as stream:
        stream.write(data)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in UTF-8, atomically."""
    write_bytes(path, redact(text).encode())


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON, atomically."""
    write_bytes(path, redact_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2)) + b"\n")


def read_json(path: Path) -> Any:
    """The JSON value in `path`."""
    return orjson.loads(path.read_bytes())


def write_jsonl(path: Path, values: Iterable[Any]) -> int:
    """Replace `path` by one JSON value a line, atomically and streaming; the number of lines."""
    count = 0
    with _replacing(path) as stream:
        for value in values:
            stream.write(redact_bytes(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)))
            count += 1
    return count


def read_jsonl(path: Path) -> Iterator[Any]:
    """The JSON values in `path`, one a line; empty lines are passed over."""
    with path.open("rb") as stream:
        for line in stream:
            if line.strip():
                yield orjson.loads(line)


@contextmanager
def publishing(directory: Path) -> Iterator[Path]:
    """A new folder to fill, renamed to `directory` when the block ends without an error.

    An existing `directory` is replaced.
    """
    temporary = _temporary(directory)
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
    """Remove a folder; it vanishes at once, so that a kill leaves no half of it under its name."""
    gone = directory.with_name(f".{directory.name}.removed")
    shutil.rmtree(gone, ignore_errors=True)
    directory.replace(gone)
    shutil.rmtree(gone)


def hash_files(*paths: Path) -> str:
    """SHA-256 (hex) over the names and contents of the files; folders are walked in order."""
    digest = hashlib.sha256()
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            digest.update(f"{file.relative_to(path) if path.is_dir() else file.name}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """What is written in the block replaces `path` when it ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _own_temporary(path)
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)  # opening a file names it in the error, writing does not
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")


def _own_temporary(path: Path) -> Path:
    """One that no other process or thread writes at the same time."""
    return path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
