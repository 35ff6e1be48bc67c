"""Judging programs by their output: one run for each test that gives stdin."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from dataenvgym.sandbox.interface import ExecutionResult, Limits, Sandbox
from dataenvgym.tasks.code.comparing import canonical_output, same_output
from dataenvgym.tasks.code.problem import CodeProblem, StdioTest
from dataenvgym.tasks.code.syntax import behind_future_imports
from dataenvgym.tasks.code.verdicts import (
    NOT_RUN,
    TestResult,
    cut,
    how_it_ended,
    limits_with_room,
)

_log = logging.getLogger(__name__)


def results_by_output(
    code: str, problem: CodeProblem, box: Sandbox, limits: Limits
) -> Iterator[TestResult]:
    """The results of the problem's tests of stdin and stdout, in order; see `judge`."""
    program = behind_future_imports(code, problem.preamble)
    in_time = True
    for test in problem.tests:
        if not isinstance(test, StdioTest):
            continue
        if not in_time:
            yield TestResult(passed=False, message=NOT_RUN)
            continue
        room = 2 * len(test.output.encode("utf-8", "replace"))
        run = box.run(
            program.encode("utf-8", "surrogatepass"),
            stdin=test.input,
            files=problem.files,
            limits=limits_with_room(limits, output=room),
        )
        in_time = run.status != "timeout"
        yield _result(run, test, problem)


def _result(run: ExecutionResult, test: StdioTest, problem: CodeProblem) -> TestResult:
    """The result of a run. Any fault in its output is the solution's fault: it wrote the output."""
    try:
        return _compared(run, test, problem)
    except Exception as error:  # noqa: BLE001  it fails the test
        _log.warning("an output could not be compared", exc_info=error)
        text = f"the output could not be compared: {type(error).__name__}"
        return TestResult(passed=False, message=text, got=text)


def _compared(run: ExecutionResult, test: StdioTest, problem: CodeProblem) -> TestResult:
    got = run.text
    if run.status == "ok" and same_output(
        got,
        test.output,
        tolerance=problem.tolerance,
        integers_by_value=problem.integers_by_value,
    ):
        return TestResult(passed=True, got=canonical_output(got))
    what = f"on the input\n{cut(test.input)}\nexpected the output\n{cut(test.output)}\n"
    if run.status != "ok":
        got = how_it_ended(run)
        return TestResult(passed=False, message=f"{what}but it {got}", got=got)
    return TestResult(passed=False, message=f"{what}got\n{cut(got)}", got=canonical_output(got))
