"""Judging: a solution and a problem's tests, in a sandbox, to a verdict.

Tests of a program's stdin and stdout are one run each. All others share one run of the harness
(see `dataenvgym.tasks.code.harness`). Expected values of calls and outputs never enter the
sandbox; asserts and doctests do, into the harness's own process.

A test that runs out of time, or after which the program is gone, ends the judging: the tests that
were not run count as not passed.
"""

from __future__ import annotations

import ast
import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from dataenvgym.errors import EvaluationError, SandboxError
from dataenvgym.records import Model
from dataenvgym.sandbox.interface import ExecutionResult, Limits, Sandbox
from dataenvgym.tasks.code.comparing import canonical, canonical_output, same_output, same_value
from dataenvgym.tasks.code.extraction import parsed
from dataenvgym.tasks.code.harness import pipes, plain, source
from dataenvgym.tasks.code.problem import (
    CallTest,
    CodeProblem,
    DoctestTest,
    ProgramTest,
    StdioTest,
    Test,
)

NOT_RUN = "not run"
_NO_DATA = "TypeError: it returned "  # as the harness's candidate says it
_SHOWN = 500  # characters of a value or an output in a message
_ENDED = {
    "timeout": "ran out of time",
    "out_of_memory": "ran out of memory",
    "output_limit": "wrote too much output",
    "killed": "used more processes than it may",
}


class TestResult(Model):
    """Whether a test passed; if not, why, for whoever may see the test.

    Attributes:
        got: what the solution gave, in canonical form, where the test is a call or gives stdin.
    """

    __test__ = False  # it is no test of pytest's

    passed: bool
    message: str = ""
    got: str | None = None

    @property
    def is_no_data(self) -> bool:
        """Whether the solution gave what is no plain data, at which no test can look."""
        return _NO_DATA in self.message


class Verdict(Model):
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


def judge(code: str, problem: CodeProblem, box: Sandbox, *, limits: Limits) -> Verdict:
    """Run the tests of `problem` on a solution.

    Args:
        limits: of each run: of every stdin test by itself, of all others together.

    Raises:
        SandboxError: if the sandbox failed.
        EvaluationError: if a test cannot be run at all, whatever the solution.
    """
    judged = _by_harness(code, problem, box, limits)
    written = _by_output(code, problem, box, limits)
    results = [next(written if isinstance(test, StdioTest) else judged) for test in problem.tests]
    return Verdict(results=tuple(results), n_public=len(problem.public))


# --- programs that read stdin -------------------------------------------------------------------


def _by_output(
    code: str, problem: CodeProblem, box: Sandbox, limits: Limits
) -> Iterator[TestResult]:
    program = _with_preamble(code, problem.preamble)
    in_time = True
    for test in problem.tests:
        if not isinstance(test, StdioTest):
            continue
        if not in_time:
            yield TestResult(passed=False, message=NOT_RUN)
            continue
        run = box.run(
            program.encode("utf-8", "surrogatepass"),
            stdin=test.input,
            files=problem.files,
            limits=_with_room(limits, output=2 * len(test.output.encode("utf-8", "replace"))),
        )
        in_time = run.status != "timeout"
        yield _read_output(run, test, problem.tolerance)


def _with_preamble(code: str, preamble: str) -> str:
    """The preamble before the code, behind its `__future__` imports, which come first."""
    tree = parsed(code)
    at = 0
    for node in tree.body if tree is not None else []:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            at = node.end_lineno or at
    lines = code.split("\n")
    return "\n".join([*lines[:at], preamble, *lines[at:]])


def _read_output(run: ExecutionResult, test: StdioTest, tolerance: float) -> TestResult:
    got = run.text
    if run.status == "ok" and same_output(got, test.output, tolerance=tolerance):
        return TestResult(passed=True, got=canonical_output(got))
    what = f"on the input\n{_cut(test.input)}\nexpected the output\n{_cut(test.output)}\n"
    if run.status != "ok":
        got = _ENDED.get(run.status) or _last_line(run)
        return TestResult(passed=False, message=f"{what}but it {got}", got=got)
    return TestResult(passed=False, message=f"{what}got\n{_cut(got)}", got=canonical_output(got))


def _last_line(run: ExecutionResult) -> str:
    lines = run.stderr.decode(errors="replace").strip().splitlines()
    return f"failed: {lines[-1]}" if lines else f"ended with the code {run.return_code}"


# --- tests by the harness -----------------------------------------------------------------------


def _by_harness(
    code: str, problem: CodeProblem, box: Sandbox, limits: Limits
) -> Iterator[TestResult]:
    tests = [test for test in problem.tests if not isinstance(test, StdioTest)]
    if not tests:
        return
    nonce = secrets.token_hex(16)
    setup = {"preamble": problem.preamble, "code": code}
    orders = {
        "nonce": nonce,
        "entry_point": problem.entry_point,
        "share": problem.tests_share_process,
        "tests": [_order(test, problem) for test in tests],
    }
    stdin = b"".join(pipes.packed(plain.dumps(message)) for message in (setup, orders))
    run = box.run(
        source(doctests=any(isinstance(test, DoctestTest) for test in tests)),
        stdin=stdin,
        files=problem.files,
        # the harness is a process, too, and writes all results
        limits=_with_room(limits, processes=1, output=4 * (len(stdin) + _expected_size(tests))),
    )
    if not run.stdout.startswith(b"ready\n"):
        how = _ENDED.get(run.status) or _last_line(run)
        raise SandboxError(f"the judge did not start in the sandbox: it {how}")
    found = _results(run, nonce.encode() + b" ")
    ended = f"the program {_ENDED.get(run.status, 'ended the judge')}"
    for number, test in enumerate(tests, start=1):
        result = next(found, None)
        if result is None:
            yield TestResult(passed=False, message=ended)
            ended = NOT_RUN
        elif "gone" in result:
            yield TestResult(passed=False, message=str(result["gone"]))
            ended = NOT_RUN
        elif "unfit" in result:
            raise EvaluationError(f"test {number} cannot be run: {result['unfit']}")
        else:
            yield _read_result(result, test, problem)


def _with_room(limits: Limits, *, output: int, processes: int = 0) -> Limits:
    """Limits that a right solution keeps, whatever is expected of it."""
    room = {"processes": limits.processes + processes, "output": limits.output + output}
    return limits.model_copy(update=room)


def _expected_size(tests: Sequence[Test]) -> int:
    """Bytes of the results that calls should give."""
    calls = (test for test in tests if isinstance(test, CallTest))
    return sum(len(json.dumps([test.expected, *test.accepts], default=repr)) for test in calls)


def _order(test: CallTest | ProgramTest | DoctestTest, problem: CodeProblem) -> list[Any]:
    match test:
        case CallTest():
            return ["call", problem.entry_point, list(test.args), test.kwargs]
        case DoctestTest():
            return [test.kind, test.text]
        case ProgramTest():
            return [test.kind, test.code]


def _results(run: ExecutionResult, mark: bytes) -> Iterator[dict[str, Any]]:
    for line in run.stdout.split(b"\n")[:-1]:
        if line.startswith(mark):
            try:
                yield plain.loads(line[len(mark) :])
            except plain.NotPlainError as error:  # nested more deeply than this thread can read
                yield {"failure": f"it returned {error}"}


def _read_result(result: dict[str, Any], test: Test, problem: CodeProblem) -> TestResult:
    failure = result.get("failure")
    if not isinstance(test, CallTest):
        return TestResult(passed=failure is None, message=_cut(failure or ""))
    arguments = [*map(_shown, test.args), *(f"{k}={_shown(v)}" for k, v in test.kwargs.items())]
    call = f"{problem.entry_point}({', '.join(arguments)})"
    if failure is not None:
        message = f"{_cut(call)} raised {_cut(failure)}, expected {_shown(test.expected)}"
        return TestResult(passed=False, message=message, got=f"raised {failure}")
    value = result["value"]
    if any(
        same_value(value, right, tolerance=problem.tolerance)
        for right in (test.expected, *test.accepts)
    ):
        return TestResult(passed=True, got=canonical(value))
    message = f"{_cut(call)} gave {_shown(value)}, expected {_shown(test.expected)}"
    return TestResult(passed=False, message=message, got=canonical(value))


def _shown(value: Any) -> str:
    return _cut(_repr(value))


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError) as error:  # a number of too many digits
        return f"<{error}>"


def _cut(text: str) -> str:
    text = text.rstrip("\n")
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
