"""Running tests that are programs, in whichever process: nothing if they pass, else why not."""

from __future__ import annotations

import random
import traceback
from types import FrameType
from typing import Any

_NAME = "<tests>"


def run(kind: str, code: str, namespace: dict[str, Any]) -> str | None:
    """Run a "program" of asserts or a "doctest"; None if it passes, else what is wrong, and where.

    Raises:
        BaseException: what is neither an `Exception` nor `SystemExit`.
    """
    random.seed(0)  # the same verdict every time
    if kind == "doctest":
        from dataenvgym.tasks.code.harness.doctests import run_doctest  # slow to import

        return run_doctest(code, namespace)
    try:
        exec(compile(code, _NAME, "exec", dont_inherit=True), namespace)
    except (Exception, SystemExit) as error:
        return _described(error, code)
    return None


def _described(error: BaseException, code: str) -> str:
    """The line of the tests at which it was raised, and what it was."""
    lines = code.splitlines()
    numbers = [n for frame, n in traceback.walk_tb(error.__traceback__) if _is_test(frame)]
    source = lines[numbers[-1] - 1].strip() if numbers and numbers[-1] <= len(lines) else ""
    return f"{source}\n{in_short(error)}".strip()


def _is_test(frame: FrameType) -> bool:
    return frame.f_code.co_filename == _NAME


def in_short(error: BaseException) -> str:
    """Class and message."""
    try:
        message = str(error)
    except Exception:
        message = "?"
    return f"{type(error).__name__}: {message}".rstrip(": ")
