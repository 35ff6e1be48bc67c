"""Runs tests that are programs, in any process, and reports the result.

{"failure": None if the test passes, else the reason and the place,
 "missing": the module whose failed import ended the test, if one did}

Whether the test itself imports that module is unknown here: `sandboxed_tests` checks it outside.
"""

from __future__ import annotations

import random
from typing import Any

from dataenvgym.domains.code.harness.exceptions import failed, in_short, places

_NAME = "<tests>"


def run(kind: str, code: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Run a "program" of asserts or a "doctest".

    Raises:
        BaseException: if it is neither an `Exception` nor `SystemExit`.
    """
    random.seed(0)  # the same verdict every time
    if kind == "doctest":
        from dataenvgym.domains.code.harness.doctests import run_doctest  # slow to import

        return run_doctest(code, namespace)
    try:
        exec(compile(code, _NAME, "exec", dont_inherit=True), namespace)
    except (Exception, SystemExit) as error:
        return failed(_described(error, code), error)
    return {"failure": None}


def _described(error: BaseException, code: str) -> str:
    """The line of the tests at which it was raised, and the exception."""
    lines = code.splitlines()
    numbers = [line for file, line in places(error) if file == _NAME]
    source = lines[numbers[-1] - 1].strip() if numbers and numbers[-1] <= len(lines) else ""
    return f"{source}\n{in_short(error)}".strip()
