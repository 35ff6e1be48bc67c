"""Judging: run a problem's tests on a solution in a sandbox, and give a verdict.

Each test of a program's stdin and stdout is one run. All other tests share one run of the harness,
whose messages this module writes and reads (see `dataenvgym.domains.code.harness`). Expected values
of calls and outputs never enter the sandbox. Asserts and doctests do, each in a process of its own.

Judging ends at a test that runs out of time or that ends the program. The tests after it count as
not passed.

A test may end in a ModuleNotFoundError because of its own imports, which is our error, or because
the student's code raised one, under any name, to have its problem left out. So the imports in the
test are tried again in a run without the student's code.
"""

from __future__ import annotations

import ast
import json
import logging
import secrets
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from dataenvgym.domains.code.harness import pipes, plain, source
from dataenvgym.domains.code.harness.answers import (
    Answer,
    OddError,
    Report,
    read_answer,
    read_report,
)
from dataenvgym.domains.code.harness.candidate import MODULE
from dataenvgym.domains.code.harness.main import ANSWER
from dataenvgym.domains.code.problem import (
    CallTest,
    CodeProblem,
    DoctestTest,
    ProgramTest,
    StdioTest,
)
from dataenvgym.domains.code.result_comparison import (
    NOT_RUN,
    CodeVerdict,
    TestResult,
    canonical,
    canonical_output,
    cut,
    how_it_ended,
    limits_with_room,
    same_output,
    same_value,
)
from dataenvgym.errors import EvaluationError, SandboxError
from dataenvgym.sandbox.interface import ExecutionResult, Limits, Sandbox
from dataenvgym.tasks.scoring.code.syntax import behind_future_imports, tree_of

__all__ = ["NOT_RUN", "TestResult", "CodeVerdict", "judge"]

_READY = b"ready\n"
_PROCESSES = 2  # of the harness and a test
_Test = CallTest | ProgramTest | DoctestTest
_TRY = """
import json, sys
missing = []
for statement in json.loads({statements!r}):
    try:
        exec(statement, {{}})
    except ModuleNotFoundError as error:
        missing.append(error.name)
    except BaseException:
        pass
sys.__stdout__.write(json.dumps(missing))
"""
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
    judged = _results_by_harness(code, problem, box, limits)
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
        yield _compared(_result_of_run, run, test, problem)


def _result_of_run(run: ExecutionResult, test: StdioTest, problem: CodeProblem) -> TestResult:
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


def _compared(result: Callable[..., TestResult], *arguments: Any) -> TestResult:
    """The result of a test; any fault in what the solution sent is its own, and fails the test."""
    try:
        return result(*arguments)
    except Exception as error:  # noqa: BLE001  it fails the test
        _log.warning("a result could not be compared", exc_info=error)
        text = f"the result could not be compared: {type(error).__name__}"
        return TestResult(passed=False, message=text, got=text)


def _results_by_harness(
    code: str, problem: CodeProblem, box: Sandbox, limits: Limits
) -> Iterator[TestResult]:
    """The results of all tests except those of stdin and stdout, in order; see `judge`."""
    tests = [test for test in problem.tests if not isinstance(test, StdioTest)]
    if not tests:
        return
    nonce = secrets.token_hex(16)
    stdin = b"".join(_orders(code, problem, tests, nonce, limits))
    calls = (test for test in tests if isinstance(test, CallTest))
    expected = sum(len(json.dumps([t.expected, *t.accepts], default=repr)) for t in calls)
    run = box.run(
        source(doctests=any(isinstance(test, DoctestTest) for test in tests)),
        stdin=stdin,
        files=problem.files,
        limits=limits_with_room(
            limits, output=4 * (len(stdin) + expected), runs=1 + len(tests), processes=_PROCESSES
        ),
    )
    if not run.stdout.startswith(_READY):
        raise SandboxError(f"the judge did not start in the sandbox: it {how_it_ended(run)}")
    found = _results(run.stdout[len(_READY) :], nonce.encode())
    if run.signal == signal.SIGALRM:
        ended = "the program ran out of time"
    elif run.status in ("ok", "error"):
        ended = "the program ended the judge"
    else:
        ended = f"the program {how_it_ended(run)}"
    for number, test in enumerate(tests, start=1):
        result = next(found, None)
        if result is None:
            yield TestResult(passed=False, message=ended)
            ended = NOT_RUN
        elif isinstance(result, Answer):
            yield _compared(_result_of_call, result, test, problem)
        elif result.gone is not None:
            yield TestResult(passed=False, message=cut(result.gone))
            ended = NOT_RUN
        else:
            why = result.unfit
            if (
                (module := result.missing)
                and not isinstance(test, CallTest)
                and _is_missing(module, test, problem, box, limits)
            ):
                why = f"it imports {module}, which is not there: install it, or set packages"
            if why:
                raise EvaluationError(f"test {number} cannot be run: {why}")
            yield TestResult(
                passed=result.failure is None,
                message=cut(result.failure or ""),
                is_no_data=result.no_data,
            )


def _orders(
    code: str, problem: CodeProblem, tests: Sequence[_Test], nonce: str, limits: Limits
) -> Iterator[bytes]:
    """The input of the harness; EvaluationError if a test is longer than can be sent."""
    yield pipes.packed(plain.dumps({"preamble": problem.preamble, "code": code}))
    setup = {
        "nonce": nonce,
        "entry_point": problem.entry_point,
        "share": problem.tests_share_process,
        "seconds": limits.seconds,
        "kinds": [test.kind for test in tests],
    }
    yield pipes.packed(plain.dumps(setup))
    for number, test in enumerate(tests, start=1):
        match test:
            case CallTest():
                call = {"call": problem.entry_point, "args": list(test.args)}
                order = plain.dumps(call | {"kwargs": test.kwargs})
            case DoctestTest():
                order = plain.dumps(test.text)
            case ProgramTest():
                order = plain.dumps(test.code)
        if len(order) > pipes.LONGEST:
            raise EvaluationError(
                f"test {number} cannot be run: it takes {len(order)} bytes, and at most "
                f"{pipes.LONGEST} can be passed to a function"
            )
        yield pipes.packed(order)


def _results(output: bytes, nonce: bytes) -> Iterator[Answer | Report]:
    """The harness's results of the tests, in order; an unreadable one is a failed test."""
    for message in pipes.unpacked(output):
        if not message.startswith(nonce):
            return
        kind, told = message[len(nonce) :][:1], message[len(nonce) + 1 :]
        try:
            yield read_answer(told) if kind == ANSWER else read_report(told)
        except OddError as error:  # e.g. nested more deeply than this thread can read
            yield Report({"failure": str(error)})


def _result_of_call(answer: Answer, test: _Test, problem: CodeProblem) -> TestResult:
    assert isinstance(test, CallTest)
    if answer.raised is None and answer.no_data is None:
        got = canonical(answer.value)
        if any(
            same_value(answer.value, right, tolerance=problem.tolerance)
            for right in (test.expected, *test.accepts)
        ):
            return TestResult(passed=True, got=got)
        ended = f"gave {_shown(answer.value)}"
    else:
        failure = f"TypeError: it returned {answer.no_data}"
        if answer.raised is not None:
            failure = answer.raised.in_words()
        got, ended = f"raised {failure}", f"raised {cut(failure)}"
    given = [*map(_shown, test.args), *(f"{k}={_shown(v)}" for k, v in test.kwargs.items())]
    call = cut(f"{problem.entry_point}({', '.join(given)})")
    return TestResult(
        passed=False,
        message=f"{call} {ended}, expected {_shown(test.expected)}",
        got=got,
        is_no_data=answer.no_data is not None,
    )


def _shown(value: Any) -> str:
    try:
        return cut(repr(value))
    except (ValueError, RecursionError) as error:  # a number with too many digits
        return f"<{error}>"


def _is_missing(
    module: str, test: ProgramTest | DoctestTest, problem: CodeProblem, box: Sandbox, limits: Limits
) -> bool:
    """Whether an import of the test or the problem's preamble fails for want of that module.

    Some imports do not count: those in a `try` may fail, those in an `if` may never be reached
    (`TYPE_CHECKING`), and the student's own module exists when the test shares its process.

    Raises:
        SandboxError: if the sandbox failed.
    """
    code = test.code if isinstance(test, ProgramTest) else ""
    if isinstance(test, DoctestTest):
        from dataenvgym.domains.code.harness.doctests import source_of  # slow to import

        with suppress(ValueError):
            code = source_of(test.text)
    statements = [
        ast.unparse(node) for text in (problem.preamble, code) for node in _imports(tree_of(text))
    ]
    is_students = problem.tests_share_process and module.partition(".")[0] == MODULE
    if not statements or is_students:
        return False
    run = box.run(
        _TRY.format(statements=json.dumps(statements)),
        files=problem.files if problem.tests_share_process else {},  # others see no files
        limits=limits,
    )
    try:
        return module in json.loads(run.text)
    except ValueError:
        return False


def _imports(tree: ast.AST) -> Iterator[ast.stmt]:
    left = [tree]
    while left:
        for node in ast.iter_child_nodes(left.pop()):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node
            elif not isinstance(node, ast.Try | ast.TryStar | ast.If):
                left.append(node)
