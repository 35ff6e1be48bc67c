"""Judging: run a problem's tests on a solution in a sandbox, and give a verdict.

Each test of a program's stdin and stdout is one run. All other tests share one run of
the harness (`harness_run`). Expected values of calls and outputs never enter the sandbox. Asserts
and doctests do, each in a process of its own.

Judging ends at a test that runs out of time or that ends the program. The tests after it count as
not passed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from dataenvgym.domains.code.harness_run import results_by_harness
from dataenvgym.domains.code.problem import CodeProblem, StdioTest
from dataenvgym.domains.code.result_comparison import canonical_output, same_output
from dataenvgym.domains.code.verdicts import (
    NOT_RUN,
    CodeVerdict,
    TestResult,
    cut,
    how_it_ended,
    limits_with_room,
)
from dataenvgym.sandbox.interface import ExecutionResult, Limits, Sandbox
from dataenvgym.scoring.code.syntax import behind_future_imports

__all__ = ["NOT_RUN", "TestResult", "CodeVerdict", "judge"]

_log = logging.getLogger(__name__)


def judge(code: str, problem: CodeProblem, box: Sandbox, *, limits: Limits) -> CodeVerdict:
    """Run the tests of `problem` on a solution.

    Args:
        limits: of each run, except `seconds`: that is for each test (and for loading the code
            before them), also where tests share a run. A run of n tests may thus take n + 1 times
            as long.

    Raises:
        SandboxError: if the sandbox failed.
        EvaluationError: if a test cannot be run with any solution.
    """
    judged = results_by_harness(code, problem, box, limits)
    written = _results_by_output(code, problem, box, limits)
    results = [next(written if isinstance(test, StdioTest) else judged) for test in problem.tests]
    return CodeVerdict(results=tuple(results), n_public=len(problem.public))


def _results_by_output(
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
        message = f"{what}got\n{cut(got)}"
        return TestResult(passed=False, message=message, got=canonical_output(got))
    except Exception as error:  # noqa: BLE001  it fails the test
        _log.warning("an output could not be compared", exc_info=error)
        text = f"the output could not be compared: {type(error).__name__}"
        return TestResult(passed=False, message=text, got=text)
