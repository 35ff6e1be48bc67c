"""Exceptions of the student's code as plain data.

    {"class", "base", "message", "line", "args"}

`base` is the builtin class that it derives from; `line` is a line of the student's code (0: none).
`answers.Raised` reads them.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from dataenvgym.domains.code.harness import plain

_LONGEST = 2000  # characters of a message


def as_data(error: BaseException, file: str) -> dict[str, Any]:
    """An exception as plain data; `file` is the name of the student's code."""
    base = next(c.__name__ for c in type(error).__mro__ if getattr(builtins, c.__name__, None) is c)
    lines = [line for place, line in places(error) if place == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno or 0)
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)[:_LONGEST]
    except BaseException:
        message = ""
    try:
        arguments = plain.loads(plain.dumps(list(error.args)))
    except BaseException:  # an argument that is not plain data
        arguments = [message]
    return {
        "class": type(error).__name__,
        "base": base,
        "message": message,
        "line": lines[-1] if lines else 0,
        "args": arguments,
    }


def places(error: BaseException) -> Iterator[tuple[str, int]]:
    """The files and lines from where it was caught to where it was raised."""
    entry = error.__traceback__  # importing `traceback` takes longer than all of our modules
    while entry is not None:
        yield entry.tb_frame.f_code.co_filename, entry.tb_lineno
        entry = entry.tb_next


def failed(failure: str, error: BaseException) -> dict[str, Any]:
    """The report of a test that an error ended."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return {"failure": failure, "missing": missing if type(missing) is str else ""}


def in_short(error: BaseException) -> str:
    """Class and message."""
    try:
        message = str(error)
    except Exception:
        message = "?"
    return f"{type(error).__name__}: {message}".rstrip(": ")
