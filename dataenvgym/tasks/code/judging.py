"""Judging: run a problem's tests on a solution in a sandbox, and give a verdict.

Each test of a program's stdin and stdout is one run (`by_output`). All other tests share one run of
the harness (`by_harness`). Expected values of calls and outputs never enter the sandbox. Asserts
and doctests do, each in a process of its own.

Judging ends at a test that runs out of time or that ends the program. The tests after it count as
not passed.
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
        limits: of each run, except `seconds`: that is for each test (and for loading the code
            before them), also where tests share a run. A run of n tests may thus take n + 1 times
            as long.

    Raises:
        SandboxError: if the sandbox failed.
        EvaluationError: if a test cannot be run with any solution.
    """
    judged = results_by_harness(code, problem, box, limits)
    written = results_by_output(code, problem, box, limits)
    results = [next(written if isinstance(test, StdioTest) else judged) for test in problem.tests]
    return CodeVerdict(results=tuple(results), n_public=len(problem.public))
