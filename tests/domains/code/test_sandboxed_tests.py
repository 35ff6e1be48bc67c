import gzip
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.sandboxed_tests import NOT_RUN, judge
from dataenvgym.domains.code.task import to_instance
from dataenvgym.errors import EvaluationError, SandboxError
from dataenvgym.sandbox import ExecutionResult, Limits
from dataenvgym.tasks.rows import SourceRow
from tests.domains.code.problems import Broken, passed, program


def test_results_of_calls_are_compared_and_the_share_is_reported(judged, box):
    tests = [[[1], {}, 2], [[2], {}, 4], [[], {"x": 3}, 4]]
    verdict = judged("def f(x):\n    return x + 1\n", box, hidden=tests)
    assert passed(verdict) == [True, False, True]
    assert verdict.share == pytest.approx(2 / 3)
    assert verdict.results[1].message == "f(2) gave 3, expected 4"
    assert [result.got for result in verdict.results] == ["2", "3", "4"]


def test_an_exception_is_reported_with_its_line(judged, box):
    verdict = judged(
        "def f(x):\n    return 1 / x\n", box, public=[[[0], {}, 1]], hidden=[[[1], {}, 1]]
    )
    assert passed(verdict) == [False, True]
    assert verdict.public_failure.message == (
        "f(0) raised ZeroDivisionError: division by zero (line 2), expected 1"
    )


def test_code_that_cannot_be_loaded_fails_all_tests_with_the_reason(judged, box):
    verdict = judged("def f(x):\n    return x +\n", box, hidden=[[[1], {}, 2], [[2], {}, 3]])
    assert verdict.results[0].message == "SyntaxError: invalid syntax (line 2)"
    assert verdict.results[1].message == NOT_RUN
    verdict = judged("def g(x):\n    return x\n", box, hidden=[[[1], {}, 2]])
    assert "NameError: name 'f' is not defined" in verdict.results[0].message


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os\ndef f(x):\n    os._exit(0)\n", "the program ended itself (exit code 0)"),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)\n", "ended itself (signal 9)"),
        ("def f(x):\n    while True: pass\n", "the program ran out of time"),
        ("def f(x):\n    return [0] * 10**5\n", "the program wrote too much output"),
    ],
)
def test_once_the_program_is_gone_the_other_tests_are_not_run(judged, code, reason, box):
    limits = Limits(seconds=1, output=2**16)
    verdict = judged(code, box, hidden=[[[1], {}, 1], [[2], {}, 2]], limits=limits)
    assert reason in verdict.results[0].message
    assert verdict.results[1].message == NOT_RUN


def test_results_that_are_right_in_another_form_count_too(judged, box):
    test = {"kind": "call", "args": [1], "expected": [[1]], "accepts": [[1]]}
    assert judged("def f(x):\n    return (x,)\n", box, hidden=[test]).passed
    assert judged("def f(x):\n    return [[x]]\n", box, hidden=[test]).passed
    assert not judged("def f(x):\n    return x\n", box, hidden=[test]).passed


def test_asserts_may_call_other_functions_and_use_modules_without_an_import(judged, box):
    code = "def f(x):\n    pass\ndef h():\n    yield from 'ab'\n"
    test = program("assert list(h()) == ['a', 'b'] != h()", "assert math.isclose(1.0, 1.0)")
    assert judged(code, box, hidden=[test]).passed


def test_a_failed_assert_is_reported_with_the_call_before_it(judged, box):
    verdict = judged("def f(x):\n    return x\n", box, public=[program("assert f(1) == 2, 'off'")])
    assert verdict.public_failure.message == (
        "assert f(1) == 2, 'off'\nAssertionError: off\nf(1) gave 1"
    )


def test_the_preamble_is_available_to_the_code_and_the_tests(judged, box):
    preamble = "import math\ndef double(x):\n    return 2 * x\n"
    verdict = judged(
        "def f(x):\n    return double(x) + math.floor(0.5)\n",
        box,
        preamble=preamble,
        hidden=[program("assert f(2) == double(2)"), program("assert math.pi > double(1)")],
    )
    assert verdict.passed


def test_doctests_compare_values_and_printed_output(judged, box):
    text = "Adds.\n\n>>> f(1)\n2\n>>> f('a')\nTraceback (most recent call last):\nTypeError: ...\n"
    code = "def f(x):\n    return x + 1\n"
    assert judged(code, box, hidden=[{"kind": "doctest", "text": text}]).passed
    says = "def f(x):\n    print('Hallo', x)\n"
    test = {"kind": "doctest", "text": ">>> f(1)\nHallo 1\n"}
    assert judged(says, box, hidden=[test]).passed
    verdict = judged(code, box, hidden=[test])
    assert verdict.results[0].message.startswith(">>> f(1)\nexpected Hallo 1\ngot 2")


def test_modules_and_files_of_the_problem_are_at_hand(judged, box):
    files = {"helper.py": "def one():\n    return 1\n", "data/words.txt": "ab"}
    code = "import helper\ndef f():\n    return [helper.one(), open('data/words.txt').read()]\n"
    assert judged(code, box, files=files, hidden=[[[], {}, [1, "ab"]]]).passed
    code = "import helper\nprint(helper.one(), open('data/words.txt').read())\n"
    assert judged(code, box, files=files, hidden=[{"kind": "stdio", "output": "1 ab"}]).passed


def test_a_single_process_is_enough_for_code_that_starts_none(judged, box):
    limits = Limits(seconds=5, processes=1)
    assert judged("def f(x):\n    return x\n", box, hidden=[[[1], {}, 1]], limits=limits).passed


def test_asserts_that_need_objects_run_in_the_process_of_the_code_by_choice(judged, box):
    code = "class Stack:\n    def __init__(self):\n        self.items = []\n"
    tests = [program("s = Stack()", "s.items.append(1)", "assert s.items == [1]")]
    fields = {"entry_point": "Stack", "hidden": tests}
    assert not judged(code, box, **fields).passed
    assert judged(code, box, **fields, tests_share_process=True).passed
    wrong = judged("class Stack:\n    items = ()\n", box, **fields, tests_share_process=True)
    assert "AttributeError" in wrong.results[0].message


def test_a_test_that_cannot_be_run_at_all_is_an_error_and_no_wrong_answer(judged, box):
    code = "def f(x):\n    return x\n"
    with pytest.raises(EvaluationError, match="set tests_share_process"):
        judged(code, box, hidden=[program("assert f(lambda: 1)")])
    with pytest.raises(EvaluationError, match="it is not Python"):
        judged(code, box, hidden=[program("assert f(")])


class OtherPython:
    """A sandbox whose interpreter cannot run what ours has compiled."""

    def __init__(self, box):
        self.box = box

    def run(self, code, **options):
        assert str(sys.hexversion) in code
        return self.box.run(code.replace(str(sys.hexversion), "0"), **options)


def test_another_python_than_ours_runs_the_harness_from_its_source(judged, box):
    other = OtherPython(box)
    tests = [program("assert f(1) == 2"), {"kind": "doctest", "text": ">>> f(1)\n2"}]
    assert judged("def f(x): return x + 1", other, hidden=tests).passed
    assert not judged("def f(x): return x", other, hidden=tests).passed


@pytest.mark.parametrize(
    "result",
    [
        SandboxError("gone"),
        ExecutionResult(status="error", return_code=127, stderr=b"no python", seconds=0),
        ExecutionResult(status="timeout", seconds=3),
        ExecutionResult(status="ok", return_code=0, seconds=0),
    ],
)
def test_a_sandbox_in_which_the_judge_does_not_start_is_an_error_and_no_wrong_answer(
    judged, result
):
    with pytest.raises(SandboxError, match=r"gone|judge did"):
        judged("def f(x): return x", Broken(result=result), hidden=[[[1], {}, 1]])


def test_an_ordinary_process_will_do_where_nothing_is_to_be_kept_away(judged, unsafe_box):
    tests = [[[1], {}, 2], program("assert f(1) == 2"), {"kind": "doctest", "text": ">>> f(1)\n2"}]
    limits = Limits(seconds=30)
    assert judged("def f(x): return x + 1", unsafe_box, hidden=tests, limits=limits).passed
    verdict = judged("def f(x): return x", unsafe_box, hidden=tests, limits=limits)
    assert passed(verdict) == [False, False, False]


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_humaneval_accepts_all_its_solutions_and_no_empty_body(box, humaneval, step):
    with gzip.open(humaneval) as stream:
        rows = [SourceRow(str(n), str(n), json.loads(line)) for n, line in enumerate(stream)]
    assert len(rows) == 164
    rows = rows[::step]
    problems = [to_instance(row, task="humaneval").data_as(CodeProblem) for row in rows]

    def all_passed(codes):
        def passes(code, problem):
            return judge(code, problem, box, limits=Limits(seconds=20)).passed

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(passes, codes, problems))

    assert all_passed([p.solution for p in problems]) == [True] * len(rows)
    assert all_passed([f"{p.starter}    pass\n" for p in problems]) == [False] * len(rows)


def test_stdin_cases_are_runs_of_their_own(judged, box):
    cases = [{"kind": "stdio", "input": f"{n}\n", "output": f"{n + 1}\n"} for n in (1, 2, 3)]
    code = "n = int(input())\nif n == 2:\n    raise ValueError('zwei')\nprint(n + 1)\n"
    verdict = judged(code, box, public=cases[:1], hidden=cases[1:])
    assert passed(verdict) == [True, False, True]
    assert "failed: ValueError: zwei" in verdict.results[1].message
    slow = "import time\nn = int(input())\nif n == 2:\n    time.sleep(60)\nprint(n + 1)\n"
    verdict = judged(slow, box, hidden=cases, limits=Limits(seconds=2))
    assert [r.message[-15:] for r in verdict.results] == ["", "ran out of time", NOT_RUN]


def test_a_preamble_comes_after_imports_from_the_future(judged, box):
    code = '"""Ours."""\nfrom __future__ import annotations\n\nprint(ONE, __doc__)\n'
    case = {"kind": "stdio", "input": "", "output": "1 Ours."}
    assert judged(code, box, preamble="ONE = 1", hidden=[case]).passed
    spoken = "from os import path  # __future__\nprint(ONE, 'Ours.')"
    assert judged(spoken, box, preamble="ONE = 1", hidden=[case]).passed


def test_the_expected_output_may_be_longer_than_the_limit(judged, box):
    limits = Limits(seconds=20, output=1000)
    text = "x" * 200_000
    case = {"kind": "stdio", "input": "", "output": text}
    loud = f"print('y' * {3 * len(text)})"
    for code, right in ((f"print('x' * {len(text)})", True), (loud, False)):
        verdict = judged(code, box, limits=limits, entry_point=None, hidden=[case])
        assert passed(verdict) == [right]
    assert "wrote too much output" in verdict.results[0].message
    code = f"def f(n):\n    return 'x' * {len(text)}"
    assert judged(code, box, limits=limits, hidden=[[[1], {}, text]]).passed
