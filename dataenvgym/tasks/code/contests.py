"""Rows of APPS and LiveCodeBench: problems of programming contests.

    APPS           "input_output" is JSON: {"inputs", "outputs"}, and "fn_name" where a function
                   is called; "starter_code", "solutions", "difficulty"
    LiveCodeBench  "public_test_cases" and "private_test_cases" are JSON lists of {"input",
                   "output", "testtype"}; the private ones may be packed (base64, zlib, pickle of a
                   text). Of type "functional", each line of the input is a JSON argument of the
                   method that "metadata" names.

Outputs are compared as these benchmarks do: numbers nearly (APPS: numpy's allclose) or exactly
(LiveCodeBench). Names that LiveCodeBench imports for every solution stand in the preamble.
"""

from __future__ import annotations

import base64
import binascii
import io
import pickle
import zlib
from typing import Any, NoReturn

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.tasks.code.rows import Parts, json_in_field, json_of, text_in
from dataenvgym.tasks.sources import Row

_APPS_TOLERANCE = 1e-5
_LONGEST = 2**30  # bytes of unpacked tests
_STARRED = """string re datetime collections heapq bisect copy math random statistics itertools
functools operator io sys json builtins typing"""
_IMPORTED = """string, re, datetime, collections, heapq, bisect, copy, math, random, statistics,
itertools, functools, operator, io, sys, json""".replace("\n", " ")
LIVECODEBENCH_PREAMBLE = (
    "".join(f"from {name} import *\n" for name in _STARRED.split())
    + f"import {_IMPORTED}\nsys.setrecursionlimit(50000)\n"
)


def apps_parts(row: Row) -> Parts:
    """The problem in a row of APPS.

    Raises:
        InvalidInstanceError: naming where, and what is amiss.
    """
    tests = json_in_field(row, "input_output")
    if not isinstance(tests, dict) or len(tests.get("inputs", ())) != len(tests.get("outputs", ())):
        raise InvalidInstanceError(
            f"{row.where}, field 'input_output': expected an object with as many inputs as outputs"
        )
    pairs = list(zip(tests.get("inputs", ()), tests.get("outputs", ()), strict=True))
    function = tests.get("fn_name")
    starter = str(row.values.get("starter_code") or "")
    solutions = json_in_field(row, "solutions") or [""]
    difficulty = str(row.values.get("difficulty") or "") or None
    problem = {
        "entry_point": function,
        "starter": starter,
        "hidden": [
            _apps_call(function, *pair) if function else _apps_stdio(*pair) for pair in pairs
        ],
        "tolerance": _APPS_TOLERANCE,
        "solution": str(solutions[0]),
    }
    return Parts(
        instruction=_asked(text_in(row, "question"), starter, calls=bool(function)),
        problem=problem,
        id_field="problem_id",
        skill=difficulty,
    )


def livecodebench_parts(row: Row) -> Parts:
    """The problem in a row of LiveCodeBench.

    Raises:
        InvalidInstanceError: naming where, and what is amiss.
    """
    public = json_in_field(row, "public_test_cases") or []
    private = _private_tests(row)
    name = (json_in_field(row, "metadata") or {}).get("func_name")
    starter = str(row.values.get("starter_code") or "")
    problem = {
        "entry_point": name,
        "starter": starter,
        "preamble": LIVECODEBENCH_PREAMBLE,
        "public": [_livecodebench_test(test, name, row) for test in public],
        "hidden": [_livecodebench_test(test, name, row) for test in private],
        "tolerance": 0.0,
    }
    return Parts(
        instruction=_asked(text_in(row, "question_content"), starter, calls=name is not None),
        problem=problem,
        id_field="question_id",
        skill=str(row.values.get("difficulty") or "") or None,
        category=str(row.values.get("platform") or "") or None,
    )


def _asked(question: str, starter: str, *, calls: bool) -> str:
    """The question with how it is to be answered."""
    if starter.strip():
        return f"{question.strip()}\n\nComplete this code:\n\n```python\n{starter.rstrip()}\n```"
    how = "Write that function." if calls else "Read the input from stdin, write to stdout."
    return f"{question.strip()}\n\n{how}"


def _call(function: str, arguments: Any, expected: Any, accepts: list[Any]) -> dict[str, Any]:
    """A call of the function; as a program, where a number is longer than records may hold."""
    if _fits([arguments, expected]):
        return {"kind": "call", "args": arguments, "expected": expected, "accepts": accepts}
    passed = " or ".join(f"result == {right!r}" for right in (expected, *accepts))
    code = (
        f"result = {function}(*{arguments!r})\n"
        f"result = list(result) if isinstance(result, tuple) else result\nassert {passed}\n"
    )
    return {"kind": "program", "code": code}


def _fits(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_fits, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _apps_call(function: str, arguments: Any, output: Any) -> dict[str, Any]:
    # an output may stand in a list of its own, and in some rows does not
    unwrapped = [output[0]] if isinstance(output, list) and output else []
    return _call(function, arguments, output, unwrapped)


def _apps_stdio(given: Any, output: Any) -> dict[str, Any]:
    return {"kind": "stdio", "input": _joined(given), "output": _joined(output)}


def _joined(text: Any) -> str:
    return "\n".join(map(str, text)) if isinstance(text, list) else str(text)


def _livecodebench_test(test: Any, function: str | None, row: Row) -> dict[str, Any]:
    if not isinstance(test, dict) or not {"input", "output"} <= test.keys():
        raise InvalidInstanceError(
            f"{row.where}: a test is {test!r:.80}, expected input and output"
        )
    if test.get("testtype") != "functional" or function is None:
        return {"kind": "stdio", "input": test["input"], "output": test["output"]}
    where = f"{row.where}, a functional test"
    arguments = [json_of(line, where) for line in test["input"].split("\n")]
    return _call(function, arguments, json_of(test["output"], where), [])


# --- packed tests -------------------------------------------------------------------------------


class _TextUnpickler(pickle.Unpickler):
    """Makes texts, numbers and containers of them; a pickle that names anything else is refused."""

    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")


def _private_tests(row: Row) -> Any:
    value = row.values.get("private_test_cases") or []
    if not isinstance(value, str):
        return value
    where = f"{row.where}, field 'private_test_cases'"
    if value.lstrip().startswith("["):
        return json_of(value, where)
    return json_of(_unpacked(value, where), where)


def _unpacked(text: str, where: str) -> str:
    try:
        unzip = zlib.decompressobj()
        data = unzip.decompress(base64.b64decode(text, validate=True), _LONGEST)
        value = _TextUnpickler(io.BytesIO(data)).load() if unzip.eof else None
    except (binascii.Error, ValueError, zlib.error, EOFError, pickle.UnpicklingError) as error:
        raise InvalidInstanceError(f"{where}: cannot be unpacked: {error}") from None
    except (AttributeError, IndexError, KeyError, ImportError, TypeError, MemoryError) as error:
        raise InvalidInstanceError(f"{where}: no pickle: {type(error).__name__}: {error}") from None
    if not isinstance(value, str):
        raise InvalidInstanceError(
            f"{where}: a pickle of {type(value).__name__}, expected a text with JSON in it"
        )
    return value
