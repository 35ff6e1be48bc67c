"""Odd data from the student's process is a failed test, never an error of the task."""

import json
import random
import string

import pytest

from dataenvgym.domains.code.harness import answers, pipes, plain
from dataenvgym.domains.code.harness.main import ANSWER
from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.errors import EvaluationError
from dataenvgym.sandbox.interface import ExecutionResult, Limits

CALL = [[20], {}, 40]
NESTED = {"kind": "program", "code": "assert g(f(20)) == 40\n"}
DOCTEST = {"kind": "doctest", "text": ">>> f(20)\n40\n"}
PATCH = """
import sys
harness = "dataenvgym.domains.code.harness."
exceptions, candidate, plain, programs = (
    sys.modules[harness + name] for name in ("exceptions", "candidate", "plain", "programs")
)
dumps = plain.dumps
BIG = 10 ** 5000
DEEP = []
for _ in range(200):
    DEEP = [DEEP]
def told(**fields):
    usual = {"class": "X", "base": "ValueError", "message": "", "line": 0, "args": []}
    exceptions.as_data = lambda error, file: usual | fields
def sends(message):
    candidate._called = lambda module, order: message
def f(x):
    raise ValueError
g = f
"""
ODD = {
    "a message that is a long number": "told(message=BIG)",
    "a class that is a long number": "told(**{'class': BIG})",
    "a line that is a long number": "told(line=BIG)",
    "a message that is nested": "told(message=DEEP)",
    "arguments that are none": "told(args=BIG)",
    "an exception that is none": "exceptions.as_data = lambda *a: 3",
    "no data for a reason that is a number": "sends(dumps({'no_data': BIG}))",
    "several outcomes": "sends(dumps({'no_data': {1: float('nan')}, 'value': 40, 'raised': 3}))",
    "a class that is not builtin": 'sends(b\'{"dict": [["value", {"type": "__loader__"}]]}\')',
    "a fraction that takes long": (
        'sends(b\'{"dict": [["value", {"Fraction": [{"int": "0x\' + b\'7\' * 200000 + '
        "b'\"}, {\"int\": \"0x' + b'3' * 200000 + b'\"}]}]]}')"
    ),
    "nothing": "sends(b'')",
    "a list": "sends(dumps([1]))",
    "changes that are none": "sends(dumps({'value': 1, 'changed': [[9, 9, 9, 9]]}))",
    "changes in other places": "sends(dumps({'value': 1, 'changed': [[0, [1], [[5, 0]], 1]]}))",
    "prints a number": "sends(dumps({'value': 1, 'printed': BIG}))",
    "surrogates": "def f(x): raise type('\\ud800', (OSError,), {})('\\udfff\\x00\\x1b')\ng = f",
    "surrogates as it is loaded": "raise ValueError('\\udc80\\x1b')",
    "a class of a surrogate's name": "A = type('A', (), {})\nA.__name__ = '\\udc80'\nf = g = A",
    "a decimal NaN": "from decimal import Decimal\nf = g = lambda x: Decimal('sNaN')",
    "odd keys": "f = g = lambda x: {float('nan'): 1, None: 3, True: 4, frozenset([1]): 6}",
}


@pytest.mark.parametrize("test", [CALL, NESTED, DOCTEST], ids=str)
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_a_failed_test(odd, test, judged, box):
    (result,) = judged(f"{PATCH}\n{ODD[odd]}\n", box, hidden=[test]).results
    assert not result.passed
    assert result.message.isprintable() or "\n" in result.message
    result.message.encode()


SHARED = {
    "a failure that is a long number": "programs.run = lambda *a, **k: {'failure': BIG}",
    "that the test is unfit": "programs.run = lambda *a, **k: {'unfit': 'x', 'failure': None}",
    "that a module is missing": (
        "programs.run = lambda *a, **k: {'failure': 'no', 'missing': 'nowhere'}"
    ),
    "that a module is missing, as another file says": (
        'text = \'def f(x):\\n    raise ModuleNotFoundError("no", name="nowhere")\'\n'
        "exec(compile(text, 'lib.py', 'exec'))"
    ),
    "that a module is missing which the test may miss": (
        "def f(x): raise ModuleNotFoundError('no', name='optional')"
    ),
    "that a module is missing which is there": (
        "def f(x): raise ModuleNotFoundError('no', name='math')"
    ),
    "that it is gone": "programs.run = lambda *a, **k: {'gone': '', 'failure': None}",
    "nothing": "programs.run = lambda *a, **k: None",
}
OPTIONAL = (
    "import math\ntry:\n    import optional\nexcept ImportError:\n    optional = None\n"
    "assert f(20) == 40\n"
)


@pytest.mark.parametrize("says", SHARED)
def test_false_reports_of_code_that_shares_the_process_are_not_errors(says, judged, box):
    test = {"kind": "program", "code": OPTIONAL}
    code = f"{PATCH}\n{SHARED[says]}\n"
    (result,) = judged(code, box, hidden=[test], tests_share_process=True).results
    assert not result.passed


@pytest.mark.parametrize(
    ("module", "imports"),
    [
        ("solution", "from solution import f\n"),
        ("nowhere", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nowhere\n"),
        ("nowhere", "import sys\nif sys.platform == 'none':\n    import nowhere\n"),
    ],
)
def test_a_module_that_the_test_does_not_miss_makes_a_wrong_answer_no_error(
    module, imports, judged, box
):
    test = {"kind": "program", "code": f"{imports}assert f(20) == 40\n"}
    fields = {"hidden": [test], "tests_share_process": True}
    assert judged("def f(x):\n    return 2 * x\n", box, **fields).passed
    wrong = f"def f(x):\n    raise ModuleNotFoundError('no', name={module!r})\n"
    assert not judged(wrong, box, **fields).passed


def test_a_test_that_runs_the_students_function_is_not_an_error_without_a_module(judged, box):
    test = {"kind": "program", "code": "exec(f(1))\n"}
    assert not judged("def f(x):\n    return 'import nowhere'\n", box, hidden=[test]).passed


def test_a_file_that_the_code_removes_makes_the_preamble_no_error(judged, box):
    fields = {"preamble": "open('a.txt').close()\n", "files": {"a.txt": "1"}}
    test = {"kind": "program", "code": "assert f(1) == 1\n"}
    right = "def f(x):\n    return 1\n"
    assert judged(right, box, hidden=[test], **fields).passed
    wrong = f"import os\nos.remove('a.txt')\n{right}"
    assert not judged(wrong, box, hidden=[test], **fields).passed


def test_an_import_of_a_file_of_the_problem_that_needs_another_module_is_an_error(judged, box):
    fields = {"files": {"helper.py": "import nowhere\n"}, "tests_share_process": True}
    test = {"kind": "program", "code": "import helper\nassert f(1) == 1\n"}
    with pytest.raises(EvaluationError, match="nowhere"):
        judged("def f(x):\n    return 1\n", box, hidden=[test], **fields)


# --- any message --------------------------------------------------------------------------------

_NAMES = (
    *("value", "raised", "no_data", "printed", "changed", "failure", "unfit", "missing", "gone"),
    *("list", "dict", "set", "iterator", "cut", "int", "Fraction", "Decimal", "type", "range"),
    *("class", "base", "message", "line", "args", "dict_keys", "Counter", "bytes", "complex"),
)


def anything(draw, depth=0):
    """A JSON value, in which what a message may hold is likely."""
    kind = draw.randrange(10 if depth < 5 else 4)
    if kind == 0:
        return draw.choice([None, True, False, 0, -1, 10**30, 1.5, float("nan"), float("inf")])
    if kind == 1:
        return draw.choice(["", "\ud800", "\x1b", "0x1f", "__loader__", "ValueError", "1e999999"])
    if kind == 2:
        return "".join(draw.choices(string.printable, k=draw.randrange(9)))
    if kind == 3:
        return draw.choice(_NAMES)
    if kind < 6:
        return [anything(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind < 8:
        return {draw.choice(_NAMES): anything(draw, depth + 1) for _ in range(draw.randrange(3))}
    return {"dict": [[draw.choice(_NAMES), anything(draw, depth + 1)] for _ in range(2)]}


def messages(seed, n):
    draw = random.Random(seed)
    for _ in range(n):
        names = draw.sample(_NAMES[:9], draw.randrange(3))
        told = {"dict": [[name, anything(draw)] for name in names]}
        message = json.dumps(told if draw.random() < 0.8 else anything(draw)).encode()
        if draw.random() < 0.1:
            message = message[: draw.randrange(len(message) + 1)]
        yield message


class Box:
    """A sandbox whose candidate answers calls with these messages."""

    def __init__(self, sent):
        self.sent = sent

    def run(self, code=None, *, stdin=b"", **options):
        _, setup = list(pipes.unpacked(stdin))[:2]
        nonce = plain.loads(setup)["nonce"].encode()
        out = b"".join(pipes.packed(nonce + ANSWER + message) for message in self.sent)
        return ExecutionResult(status="ok", stdout=b"ready\n" + out, seconds=0.0)

    def close(self):
        pass


def test_every_answer_to_a_call_is_judged_and_can_be_stored():
    sent = [*messages(1, 2000), b"\xff", b"[" * 100_000, b'{"list":[' * 50_000]
    problem = CodeProblem(entry_point="f", hidden=[[[1], {}, "unheard of"]] * len(sent))
    verdict = judge("", problem, Box(sent), limits=Limits())
    assert len(verdict.results) == len(sent)
    assert not any(result.passed for result in verdict.results)
    for result in verdict.results:
        result.message.encode()


def test_every_message_is_an_answer_a_report_or_odd():
    read = {answers.read_answer: 0, answers.read_report: 0, answers.read_loaded: 0}
    for message in messages(2, 2000):
        for reader in read:
            try:
                reader(message)
                read[reader] += 1
            except answers.OddError:
                pass
    assert min(read.values()) > 3  # they are not all odd


@pytest.mark.parametrize("test", [CALL, NESTED], ids=str)
def test_a_process_that_answers_anything_never_passes(test, judged, box):
    for message in messages(3, 10):
        code = f"{PATCH}\nsends({message!r})\n"
        assert not judged(code, box, hidden=[test]).passed


# --- what is written ----------------------------------------------------------------------------
