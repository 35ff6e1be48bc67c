"""Compares a solution's results with the expected ones, outside the sandbox; the verdict on tests.

Results of calls are compared as JSON. An expected integer must be matched exactly: 5.0 equals 5, as
in Python, but 4999999999.0 does not equal 5000000000. Outputs of programs are compared as in
contests: line by line, without spaces at both ends. Where two lines differ, they are compared
number by number. Two numbers without a point or an exponent are compared as texts ("7" is not
"007"), unless the problem says otherwise. With a tolerance above zero, empty lines are ignored too.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from dataenvgym.domains.code.harness.plain import Items
from dataenvgym.errors import shorten
from dataenvgym.records import Model, Note
from dataenvgym.sandbox.interface import ExecutionResult, Limits

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_NUMBER = 5000


def same_value(value: Any, expected: Any, *, tolerance: float) -> bool:
    """Whether a result of plain data equals a JSON value.

    A tuple counts as a list, and dict keys are compared as texts, as in JSON. If a float is
    expected, the result may differ by the relative `tolerance`. If an int is expected, the
    result must equal it, whatever its type. nan equals nothing.
    """
    try:
        return _same(value, expected, tolerance)
    except RecursionError:
        return False


def same_output(
    output: str, expected: str, *, tolerance: float, integers_by_value: bool = False
) -> bool:
    """Whether a program's output is the expected one; without tolerance, empty lines count.

    Args:
        integers_by_value: whether "7" equals "007".
    """
    lines, wanted = (_lines(text, blank=not tolerance) for text in (output, expected))
    if len(lines) != len(wanted):
        return False
    for line, other in zip(lines, wanted, strict=True):
        if line == other:
            continue
        ours, theirs = line.split(), other.split()
        if len(ours) != len(theirs) or not all(
            one == two or _same_numbers(one, two, tolerance, integers_by_value)
            for one, two in zip(ours, theirs, strict=True)
        ):
            return False
    return True


def canonical(value: Any) -> str:
    """A text that is, as a rule, the same for results that `same_value` calls equal.

    Numbers are rounded to nine digits; sets and dicts are sorted.
    """
    try:
        return _canonical(value)
    except (RecursionError, ValueError) as error:  # nested too deeply, or too many digits
        return f"<{error}>"


def canonical_output(output: str) -> str:
    """The output without the spaces and empty lines that `same_output` ignores."""
    return "\n".join(_lines(output, blank=False))


def _canonical(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        rounded = float(f"{value:.9g}")
        return repr(int(rounded)) if rounded.is_integer() else repr(rounded)
    if isinstance(value, bool):
        return repr(int(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_canonical, value))}]"
    if isinstance(value, dict):
        items = sorted(f"{_canonical(_key(k))}: {_canonical(v)}" for k, v in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(map(_canonical, value)))})"
    if isinstance(value, Items):
        return f"iterator({_canonical(value.items)}{', ...' if value.cut else ''})"
    return repr(value)


def _same(value: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected or (
            _is_number(value) and _is_number(expected) and value == expected
        )
    if _is_number(value) and _is_number(expected):
        return _close(value, expected, tolerance)
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(
            _same(v, e, tolerance) for v, e in zip(value, expected, strict=True)
        )
    if isinstance(value, dict) and isinstance(expected, dict):
        named = {_key(k): v for k, v in value.items()}
        is_whole = len(named) == len(value)  # 1 and "1" are one key in JSON
        return (
            is_whole
            and named.keys() == expected.keys()
            and all(_same(named[k], e, tolerance) for k, e in expected.items())
        )
    return type(value) is type(expected) and bool(value == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _close(value: float, expected: float, tolerance: float) -> bool:
    if value == expected:  # exactly: Python rounds neither side
        return True
    if isinstance(expected, int):
        return False
    try:
        return math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance * 1e-3)
    except OverflowError:  # an integer that no float can hold
        return False


def _key(key: Any) -> Any:
    """The key as JSON writes it."""
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    is_short = isinstance(key, int) and key.bit_length() < 10_000
    return repr(key) if isinstance(key, float) or is_short else key


def _lines(text: str, *, blank: bool) -> list[str]:
    lines = [line.strip() for line in text.strip().split("\n")]
    return lines if blank else [line for line in lines if line]


def _same_numbers(token: str, other: str, tolerance: float, integers_by_value: bool) -> bool:
    if max(len(token), len(other)) > _LONGEST_NUMBER:
        return False
    if not (_NUMBER.fullmatch(token) and _NUMBER.fullmatch(other)):
        return False
    if not integers_by_value and _INTEGER.fullmatch(token) and _INTEGER.fullmatch(other):
        return False
    one, two = Decimal(token), Decimal(other)
    if one == two:
        return True
    if one == one.to_integral_value() and two == two.to_integral_value():
        return False
    return math.isclose(float(one), float(two), rel_tol=tolerance, abs_tol=tolerance * 1e-3)


NOT_RUN = "not run"
_SHOWN = 500  # characters of a value or an output in a message
_ENDED = {
    "timeout": "ran out of time",
    "out_of_memory": "ran out of memory",
    "output_limit": "wrote too much output",
    "killed": "used more processes than it may",
}


class TestResult(Model):
    """Whether a test passed; if not, the reason, for readers who may see the test.

    Attributes:
        message: control characters and lone surrogates are escaped, because code may send any text.
        got: the solution's result in canonical form, if the test is a call or gives stdin.
        is_no_data: True if the solution returned an object that cannot be compared outside its
            process.
    """

    __test__ = False  # pytest should not collect it

    passed: bool
    message: Note = ""
    got: str | None = None
    is_no_data: bool = False


class CodeVerdict(Model):
    """The results of all tests, the public ones first."""

    results: tuple[TestResult, ...]
    n_public: int = 0

    @property
    def passed(self) -> bool:
        """Whether all tests passed."""
        return all(result.passed for result in self.results)

    @property
    def share(self) -> float:
        """The share of the tests that passed."""
        return sum(result.passed for result in self.results) / len(self.results)

    @property
    def public_failure(self) -> TestResult | None:
        """The first public test that failed."""
        return next((r for r in self.results[: self.n_public] if not r.passed), None)


def limits_with_room(limits: Limits, *, output: int, runs: int = 1, processes: int = 0) -> Limits:
    """Limits that are large enough for a right solution, whatever output is expected.

    Args:
        output: bytes of the expected output.
        runs: how many times `limits.seconds` the run may take.
        processes: how many run in addition to the solution's own.
    """
    room = {
        "seconds": min(runs * limits.seconds, 10**6),
        "processes": limits.processes + processes,
        "output": limits.output + output,
    }
    return limits.model_copy(update=room)


def how_it_ended(run: ExecutionResult) -> str:
    """How a failed run ended, as "it ...": the limit it hit, or its last line of output."""
    if run.status in _ENDED:
        return _ENDED[run.status]
    lines = run.stderr.decode(errors="replace").strip().splitlines()
    return f"failed: {lines[-1]}" if lines else f"ended with the code {run.return_code}"


def cut(text: str) -> str:
    """The beginning of a text, as messages show it."""
    return shorten(text.rstrip("\n"), _SHOWN)
