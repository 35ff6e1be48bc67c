"""Judging: a solution and a problem's tests, in a sandbox, to a verdict.

Tests of a program's stdin and stdout are one run each (`by_output`). All others share one run of
the harness (`by_harness`). Expected values of calls and outputs never enter the sandbox; asserts
and doctests do, into processes of their own.

A test that runs out of time, or after which the program is gone, ends the judging: the tests that
were not run count as not passed.
"""

from __future__ import annotations

from dataenvgym.sandbox.interface import Limits, Sandbox
from dataenvgym.tasks.code.by_harness import results_by_harness
from dataenvgym.tasks.code.by_output import results_by_output
from dataenvgym.tasks.code.problem import CodeProblem, StdioTest
from dataenvgym.tasks.code.verdicts import NOT_RUN, CodeVerdict, TestResult

__all__ = ["NOT_RUN", "TestResult", "CodeVerdict", "judge"]


def judge(code: str, problem: CodeProblem, box: Sandbox, *, limits: Limits) -> CodeVerdict:
    """Run the tests of `problem` on a solution.

    Args:
        limits: of each run. Of these `seconds` holds for every test by itself, also where tests
            share a run (and for loading the code before them): a run of n tests may take n + 1
            times as long. All else holds for a run as a whole.

    Raises:
        SandboxError: if the sandbox failed.
        EvaluationError: if a test cannot be run at all, whatever the solution.
    """
    judged = results_by_harness(code, problem, box, limits)
    written = results_by_output(code, problem, box, limits)
    results = [next(written if isinstance(test, StdioTest) else judged) for test in problem.tests]
    return CodeVerdict(results=tuple(results), n_public=len(problem.public))
