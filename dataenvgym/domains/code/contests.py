"""Rows of APPS and LiveCodeBench: problems of programming contests.

    APPS           "input_output" is JSON: {"inputs", "outputs"}, and "fn_name" where a function
                   is called; "starter_code", "solutions", "difficulty". Some rows have no tests.
    LiveCodeBench  "public_test_cases" and "private_test_cases" are JSON lists of {"input",
                   "output", "testtype"}; the private ones may be packed (base64, zlib, pickle of a
                   text). Of type "functional", each line of the input is a JSON argument of the
                   method that "metadata" names, or else "starter_code".

Outputs are compared as these benchmarks do: numbers by value, integers too ("7" equals "007"). APPS
ignores empty lines and allows the tolerance of numpy's allclose; LiveCodeBench compares exactly.
Results of calls are compared exactly. The preamble has the names that the benchmarks import for
every solution, except APPS's numpy, which may not be installed.
"""

from __future__ import annotations

import base64
import io
import math
import pickle
import re
import zlib
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, NoReturn, Self

from pydantic import BeforeValidator, model_validator

from dataenvgym.domains.code.problem import JsonList, JsonObject, Parts, Row, json_of, unjsoned
from dataenvgym.records import Model, Text
from dataenvgym.tasks.rows import SourceRow, UnfitRowError

_APPS_TOLERANCE = 1e-5  # of outputs
# Python versions of that time wrote numbers of any length, hence the last line
APPS_PREAMBLE = """\
import collections, fractions, heapq, itertools, math, random, sys, time
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
from functools import lru_cache
from heapq import *
from itertools import accumulate, combinations, permutations, product
from math import ceil, cos, exp, fabs, floor, gcd, log, log2, sin, sqrt, tan
from typing import List, Tuple
sys.set_int_max_str_digits(0)
"""
_LONGEST = 2**30  # bytes of unpacked tests
_STARRED = """string re datetime collections heapq bisect copy math random statistics itertools
functools operator io sys json builtins typing"""
_IMPORTED = """string, re, datetime, collections, heapq, bisect, copy, math, random, statistics,
itertools, functools, operator, io, sys, json""".replace("\n", " ")
LIVECODEBENCH_PREAMBLE = (
    "".join(f"from {name} import *\n" for name in _STARRED.split())
    + f"import {_IMPORTED}\nsys.setrecursionlimit(50000)\n"
)


class _Tests(Model, extra="ignore"):
    inputs: list[Any] = []
    outputs: list[Any] = []
    fn_name: str | None = None

    @model_validator(mode="after")
    def _are_as_many(self) -> Self:
        if len(self.inputs) != len(self.outputs):
            raise ValueError(f"{len(self.inputs)} inputs and {len(self.outputs)} outputs")
        return self


class _Apps(Row):
    question: Text
    input_output: Annotated[_Tests | None, BeforeValidator(partial(unjsoned, dict))] = None
    starter_code: Text = ""
    solutions: JsonList = []
    difficulty: Any = None


def apps_parts(row: SourceRow) -> Parts:
    """The problem in a row of APPS; UnfitRowError if it has no tests."""
    given = _Apps.of(row)
    if (tests := given.input_output) is None or not tests.inputs:
        raise UnfitRowError(f"{row.where}: no tests")
    function = tests.fn_name
    problem = {
        "entry_point": function,
        "starter": given.starter_code,
        "preamble": APPS_PREAMBLE,
        "hidden": [
            _apps_call(function, one, output)
            if function
            else {"kind": "stdio", "input": _joined(one), "output": _joined(output)}
            for one, output in zip(tests.inputs, tests.outputs, strict=True)
        ],
        "tolerance": 0.0 if function else _APPS_TOLERANCE,
        "integers_by_value": function is None,
        "solution": next(iter(given.solutions), ""),
    }
    return Parts(
        instruction=_asked(given.question, given.starter_code, calls=bool(function)),
        problem=problem,
        id_field="problem_id",
        skill=str(given.difficulty or "") or None,
    )


class _Test(Model, extra="ignore"):
    input: Text
    output: Text
    testtype: Any = None


def livecodebench_parts(row: SourceRow) -> Parts:
    """The problem in a row of LiveCodeBench."""
    given = _LiveCodeBench.of(row)
    public, private = given.public_test_cases, given.private_test_cases
    starter, name = given.starter_code, given.metadata.get("func_name")
    if name is None and any(test.testtype == "functional" for test in (*public, *private)):
        own = starter[max(0, starter.find("class Solution")) :]
        if not (method := re.search(r"^[ \t]*def ([^\W_]\w*)", own, re.MULTILINE)):
            raise UnfitRowError(f"{row.where}: functional tests, and no name of their function")
        name = method[1]
    problem = {
        "entry_point": name,
        "starter": starter,
        "preamble": LIVECODEBENCH_PREAMBLE,
        "public": [_livecodebench_test(test, name, row) for test in public],
        "hidden": [_livecodebench_test(test, name, row) for test in private],
        "tolerance": 0.0,
        "integers_by_value": True,
    }
    return Parts(
        instruction=_asked(given.question_content, starter, calls=name is not None),
        problem=problem,
        id_field="question_id",
        skill=str(given.difficulty or "") or None,
        category=str(given.platform or "") or None,
    )


def _asked(question: str, starter: str, *, calls: bool) -> str:
    """The question, followed by how to answer it."""
    if starter.strip():
        return f"{question.strip()}\n\nComplete this code:\n\n```python\n{starter.rstrip()}\n```"
    how = "Write that function." if calls else "Read the input from stdin, write to stdout."
    return f"{question.strip()}\n\n{how}"


def _call(function: str, arguments: Any, expected: Any, accepts: list[Any]) -> dict[str, Any]:
    """A call of the function, written as a program if records cannot hold one of its values."""
    if _fits([arguments, expected]):
        return {"kind": "call", "args": arguments, "expected": expected, "accepts": accepts}
    passed = " or ".join(f"result == {_literal(right)}" for right in (expected, *accepts))
    code = (
        f"result = {function}(*{_literal(arguments)})\n"
        f"result = list(result) if isinstance(result, tuple) else result\nassert {passed}\n"
    )
    return {"kind": "program", "code": code}


def _fits(value: Any) -> bool:
    """Whether all JSON readers agree on it: no long numbers, and only texts as keys."""
    if isinstance(value, list):
        return all(map(_fits, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _fits(item) for key, item in value.items())
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _literal(value: Any) -> str:
    """The value as Python, however long its numbers are."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    return repr(value) if _fits(value) else hex(value)


def _apps_call(function: str, arguments: Any, output: Any) -> dict[str, Any]:
    if isinstance(arguments, list):
        arguments = [*map(_with_numbers, arguments[:1]), *arguments[1:]]
    if not isinstance(output, list):
        return _call(function, arguments, _with_numbers(output), [])
    # some rows wrap the output in a list of its own, others do not
    output = [*map(_with_numbers, output[:1]), *output[1:]]
    return _call(function, arguments, output, output[:1])


def _with_numbers(value: Any) -> Any:
    """A dict whose integer keys, which JSON made texts, are integers again."""
    try:
        return {int(k): v for k, v in value.items()} if isinstance(value, dict) else value
    except ValueError:
        return value


def _joined(value: Any) -> str:
    """The lines of a program's input or output: the items of a list, or one value."""
    lines = value if isinstance(value, list) else [value]
    # `str` refuses a long `int`
    return "\n".join(str(Decimal(v) if type(v) is int else v) for v in lines)


def _livecodebench_test(test: _Test, function: str | None, row: SourceRow) -> dict[str, Any]:
    if test.testtype != "functional" or function is None:
        return {"kind": "stdio", "input": test.input, "output": test.output}
    where = f"{row.where}, a functional test: "
    arguments = [json_of(line, where) for line in test.input.split("\n")]
    return _call(function, arguments, json_of(test.output, where), [])


# --- packed tests -------------------------------------------------------------------------------


class _TextUnpickler(pickle.Unpickler):
    """Builds texts, numbers and containers of them; refuses a pickle that names anything else."""

    def find_class(self, module_name: str, global_name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")


def _unpacked(value: Any) -> Any:
    """The tests in a field, which may be a JSON text, also a packed one."""
    if not isinstance(value, str) or value.lstrip()[:1] in ("", "[", "{"):
        return unjsoned(list, value)
    try:
        unzip = zlib.decompressobj()
        data = unzip.decompress(base64.b64decode(value, validate=True), _LONGEST)
        text = _TextUnpickler(io.BytesIO(data)).load() if unzip.eof else None
    except Exception as error:  # noqa: BLE001  a damaged pickle may raise anything
        raise ValueError(f"cannot be unpacked: {type(error).__name__}: {error}") from None
    if not isinstance(text, str):
        raise ValueError(f"a pickle of {type(text).__name__}, expected a text with JSON in it")
    return json_of(text)


class _LiveCodeBench(Row):
    question_content: Text
    public_test_cases: Annotated[tuple[_Test, ...], BeforeValidator(partial(unjsoned, list))] = ()
    private_test_cases: Annotated[tuple[_Test, ...], BeforeValidator(_unpacked)] = ()
    starter_code: Text = ""
    metadata: JsonObject = {}
    difficulty: Any = None
    platform: Any = None
