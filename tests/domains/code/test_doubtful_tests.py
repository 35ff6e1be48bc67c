"""Tests that are as little to be trusted as the code, e.g. written by a teacher."""

import pytest

from dataenvgym.sandbox import Limits
from tests.domains.code.problems import passed, program

RIGHT = "def f(x):\n    return x + 1\n"
WRONG = "def f(x):\n    return 5\ndef g():\n    return 2\n"
FORGERIES = {
    "writes in the harness's name": """
import os, sys
frame = sys._getframe()
while "out" not in frame.f_locals:
    frame = frame.f_back
message = frame.f_locals["setup"]["nonce"].encode() + b'{"dict": [["failure", null]]}'
for _ in range(9):
    os.write(frame.f_locals["out"], len(message).to_bytes(4, "big") + message)
""",
    "opens the harness's files": """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for fd in range(16 * (int(pid) != os.getpid())):
        try:
            os.write(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY), b"more")
        except OSError:
            pass
""",
    "leaves an answer for the next test": """
import sys
PLAIN = "dataenvgym.domains.code.harness.plain"
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        if hasattr(value, "ask"):
            order = {"call": "g", "args": [], "kwargs": {}}
            value.send(bytes(16) + sys.modules[PLAIN].dumps(order))
    frame = frame.f_back
""",
    "changes what the next test uses": """
import builtins, sys
builtins.AssertionError = type("AssertionError", (), {})
for name, module in list(sys.modules.items()):
    if "harness" in name:
        for key in list(vars(module)):
            setattr(module, key, lambda *a, **k: {"failure": None})
""",
    "leaves a process behind": """
import os
if os.fork() == 0:
    for fd in range(3, 64):
        try:
            os.set_blocking(fd, False)
        except OSError:
            pass
    for _ in range(200_000):
        for fd in range(3, 16):
            try:
                os.write(fd, b'\\0\\0\\0\\x1d{"dict": [["failure", null]]}')
            except OSError:
                pass
    os._exit(0)
""",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_test_speaks_for_no_other_test(judged, forgery, box):
    first = {"kind": "program", "code": FORGERIES[forgery]}
    for second in ({"kind": "program", "code": "assert f(1) == 2\n"}, [[1], {}, 2]):
        verdict = judged(WRONG, box, hidden=[first, second], limits=Limits(seconds=3))
        assert not verdict.results[1].passed


def test_a_test_that_ends_its_process_has_failed_and_the_next_one_is_run(judged, box):
    tests = ["import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n", "assert f(1) == 2\n"]
    verdict = judged(RIGHT, box, hidden=[*map(program, tests)])
    assert passed(verdict) == [False, False, True]
    assert verdict.results[0].message == "the test ended its own process"


def test_names_and_modules_of_one_test_are_not_visible_to_the_next(judged, box):
    tests = ["import math\nmath.pi = 3\nx = 1\n", "assert math.pi > 3 and 'x' not in globals()\n"]
    assert judged(RIGHT, box, hidden=[*map(program, tests)]).passed
