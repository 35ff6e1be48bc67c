"""Code that tries to pass without solving the problem."""

import pytest

from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.sandbox import Limits
from tests.domains.code.problems import LIMITS

PROGRAM = (
    "def check(candidate):\n"
    "    assert candidate(20) == 40\n"
    "    assert candidate([3, 1]) == [1, 3]\n"
    "\ncheck(f)\n"
)
ASSERTS = CodeProblem(entry_point="f", hidden=[{"kind": "program", "code": PROGRAM}])
DOCTEST = CodeProblem(
    entry_point="f", hidden=[{"kind": "doctest", "text": ">>> f(20)\n40\n>>> f([3, 1])\n[1, 3]\n"}]
)
CALLS = CodeProblem(entry_point="f", hidden=[[[20], {}, 40], [[[3, 1]], {}, [1, 3]]])
RIGHT = "def f(x):\n    return sorted(x) if isinstance(x, list) else 2 * x\n"

SENDING = """
import os, struct
def send():
    message = {message}
    for fd in range(3, 16):
        try:
            left = struct.pack('!I', len(message)) + message
            while left:
                left = left[os.write(fd, left):]
        except OSError:
            pass
send()
def f(x):
    send()
"""
TO_ALL = (
    "for fd in range(3, 64):\n"
    "    try:\n        os.write(fd, {})\n    except OSError:\n        pass\n"
)
ATTACKS = {
    "nothing": "",
    "leaves as it is imported": "import sys\nsys.exit(0)\n",
    "leaves at once as it is imported": "import os\nos._exit(0)\n",
    "leaves in the function": "def f(x):\n    import sys\n    sys.exit(0)\n",
    "leaves at once in the function": "def f(x):\n    import os\n    os._exit(0)\n",
    "raises what leaves": "def f(x):\n    raise SystemExit(0)\n",
    "prints a forged verdict": (
        "import os, sys\n"
        "line = '{\"failure\": null}'\n"
        "for fd in range(256):\n"
        "    for text in ('ready\\n', line, '0' * 32 + ' ' + line + '\\n'):\n"
        "        try:\n"
        "            os.write(fd, text.encode())\n"
        "        except OSError:\n"
        "            pass\n"
        "def f(x):\n    print(line); sys.exit(0)\n"
    ),
    "patches what tests use": (
        "import builtins, sys, os, unittest, json\n"
        "sys.exit = os._exit = lambda *a: None\n"
        "builtins.AssertionError = type('AssertionError', (), {})\n"
        "builtins.__build_class__ = builtins.compile = builtins.exec = lambda *a, **k: None\n"
        "unittest.TestCase.assertEqual = lambda *a: None\n"
        "json.dumps = lambda *a, **k: '{\"failure\": null}'\n"
        "builtins.all = builtins.isinstance = lambda *a: True\n"
        "def f(x):\n    return None\n"
    ),
    "patches the judge's own modules": (
        "import sys\n"
        "for name, module in list(sys.modules.items()):\n"
        "    if 'harness' in name:\n"
        "        for key in list(vars(module)):\n"
        "            setattr(module, key, lambda *a, **k: None)\n"
        "def f(x):\n    return None\n"
    ),
    "is equal to everything": (
        "class Same:\n"
        "    __eq__ = lambda s, o: True\n"
        "    __ne__ = lambda s, o: False\n"
        "    __hash__ = lambda s: 0\n"
        "    __repr__ = lambda s: '40'\n"
        "def f(x):\n    return Same()\n"
    ),
    "is a number that is equal to everything": (
        "class Same(int):\n"
        "    __eq__ = lambda s, o: True\n"
        "    __ne__ = lambda s, o: False\n"
        "    __hash__ = int.__hash__\n"
        "    __repr__ = lambda s: '40'\n"
        "def f(x):\n    return Same(1)\n"
    ),
    "is a list that is equal to everything": (
        "class Same(list):\n    __eq__ = lambda s, o: True\ndef f(x):\n    return Same()\n"
    ),
    "never returns": "def f(x):\n    while True:\n        pass\n",
    "ignores signals and never returns": (
        "import signal\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "while True:\n    pass\n"
    ),
    "looks for expected values in frames and objects": (
        "import gc, sys\n"
        "def f(x):\n"
        "    frame = sys._getframe()\n"
        "    while frame is not None:\n"
        "        for value in list(frame.f_locals.values()):\n"
        "            if isinstance(value, dict) and 'expected' in value:\n"
        "                return value['expected']\n"
        "        frame = frame.f_back\n"
        "    for thing in gc.get_objects():\n"
        "        if isinstance(thing, list) and len(thing) == 2 and x in thing:\n"
        "            return thing[1]\n"
    ),
    "reads the memory and the files of other processes": (
        "import os, re\n"
        "found = []\n"
        "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "    if int(pid) == os.getpid():\n"
        "        continue\n"
        "    try:\n"
        "        for fd in os.listdir(f'/proc/{pid}/fd'):\n"
        "            found.append(os.open(f'/proc/{pid}/fd/{fd}', os.O_RDWR))\n"
        "    except OSError:\n"
        "        pass\n"
        "    try:\n"
        "        memory = open(f'/proc/{pid}/mem', 'rb', 0)\n"
        "        for line in open(f'/proc/{pid}/maps'):\n"
        "            first, last = (int(n, 16) for n in line.split()[0].split('-'))\n"
        "            memory.seek(first)\n"
        "            data = memory.read(last - first)\n"
        "            found += re.findall(rb'candidate.20. == (..)', data)\n"
        "    except (OSError, OverflowError, ValueError):\n"
        "        pass\n"
        "def f(x):\n"
        "    return 40 if found and x == 20 else sorted(x) if found else None\n"
    ),
    "ends its judge": (
        "import os, signal\n"
        "os.kill(os.getppid(), signal.SIGKILL)\n"
        "def f(x):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    ),
    "stops its judge": "import os\ndef f(x):\n    os.kill(os.getppid(), 19)\n",
    "closes all it has": (
        "import os\nos.closerange(0, 256)\ndef f(x):\n    os.closerange(0, 256)\n    return 1\n"
    ),
    "floods stdout": (
        "import sys, os\n"
        "def f(x):\n"
        "    for _ in range(60):\n"
        "        sys.stdout.write('x' * 2**20)\n"
        "        os.write(1, b'x' * 2**20)\n"
    ),
    "never stops printing": "def f(x):\n    while True:\n        print('x' * 1000)\n",
    "answers before it is asked": (
        "import os, json, struct\n"
        "m = json.dumps({'dict': [['value', 40], ['changed', {'list': []}], ['printed', '']]})\n"
        + TO_ALL.format("struct.pack('!I', len(m)) + m.encode()")
        + "def f(x):\n    return None\n"
    ),
    "sends a message without end": (
        f"import os\ndef f(x):\n    exec({TO_ALL!r}.format(b'\\xff' * 100))\n    os._exit(0)\n"
    ),
    "answers with a deeply nested value": SENDING.format(
        message="b'{\"dict\":[[\"value\",' + b'{\"list\":[' * 480 + b']}' * 480 + b']]}'"
    ),
    "answers by a very long text": SENDING.format(
        message="b'{\"dict\": [[\"value\", \"' + b'x' * 50_000_000 + b'\"]]}'"
    ),
    "answers by very many things": SENDING.format(
        message='b\'{"dict": [["value", {"list": [\' + b\'{"set":[]},\' * 1_000_000 + b\'1]}]]}\''
    ),
    "returns a deeply nested value": (
        "def f(x):\n    a = []\n    for _ in range(150):\n        a = [[a]]\n    return a\n"
    ),
    "takes all memory": "def f(x):\n    return bytearray(8 * 2**30)\n",
    "takes all memory, bit by bit": (
        "def f(x):\n    a = []\n    while True:\n        a.append('x' * 10**6)\n"
    ),
    "forks without end": "import os\ndef f(x):\n    while True:\n        os.fork()\n",
    "has 200 KB of source": "x = 1\n" * 34_000 + "def f(x):\n    return x\n",
    "is nested without end": "def f(x):\n    return " + "(" * 100_000 + "\n",
    "has NUL bytes": "def f(x):\n    return '\x00'\n",
    "is not Unicode": "def f(x):\n    return '\udc80\udcff'\n",
    "returns a list that contains itself": "def f(x):\n    a = []\n    a.append(a)\n    return a\n",
    "calls itself without end": "def f(x):\n    return f(x)\n",
    "returns another process": "import os\npid = os.fork()\ndef f(x):\n    return pid\n",
}


LONG = ("answers by very many things", "answers by a very long text")
PROBLEMS = {"asserts": ASSERTS, "doctest": DOCTEST, "calls": CALLS}


@pytest.mark.parametrize(
    ("attack", "problem"),
    [
        pytest.param(
            attack, problem, marks=[pytest.mark.slow] if attack in LONG or (n - m) % 3 else []
        )
        for n, attack in enumerate(ATTACKS)
        for m, problem in enumerate(PROBLEMS)
    ],
)
def test_an_attack_does_not_pass(attack, problem, box):
    slow = attack.startswith(("never", "ignores", "stops", "is nested", "forks"))
    limits = LIMITS.model_copy(update={"seconds": 1.0}) if slow else LIMITS
    verdict = judge(ATTACKS[attack], PROBLEMS[problem], box, limits=limits)
    assert not verdict.passed
    assert any(result.message for result in verdict.results)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_right_code_passes_after_the_attacks(problem, box):
    assert judge(RIGHT, PROBLEMS[problem], box, limits=LIMITS).passed


SHADOW = """
import sys
frame = sys._getframe()
while frame is not None:
    if "f" in frame.f_globals:
        frame.f_globals["f"] = lambda x: 40
    frame = frame.f_back
"""
SHADOWING = f"""
import os, sys
for folder in {{*sys.path, os.getcwd(), "/tmp", "/dev/shm"}}:
    try:
        with open(os.path.join(folder, "colorsys.py"), "w") as stream:
            stream.write({SHADOW!r})
    except OSError:
        pass
def f(x):
    return None
"""


def test_modules_that_the_code_leaves_behind_are_not_imported_by_the_tests(box):
    test = {"kind": "program", "code": "import colorsys\nassert f(20) == 40\n"}
    problem = CodeProblem(entry_point="f", hidden=[test])
    assert not judge(SHADOWING, problem, box, limits=LIMITS).passed
    assert judge(RIGHT, problem, box, limits=LIMITS).passed


@pytest.mark.parametrize(
    "attack",
    [
        "", "import sys\nsys.exit(0)\n", "import os\nos._exit(0)\n",
        "def f(x):\n    import os\n    os._exit(0)\n", "def f(x):\n    raise SystemExit(0)\n",
        "import builtins\nbuiltins.print = print\ndef f(x):\n    print('passed'); return None\n",
        "import os\n" + TO_ALL.format("b'\\0\\0\\0\\x11{\"failure\": null}'") + "os._exit(0)\n",
    ],
)  # fmt: skip
def test_even_in_the_process_of_the_tests_a_blind_attack_does_not_pass(attack, box):
    shared = ASSERTS.model_copy(update={"tests_share_process": True})
    assert not judge(attack, shared, box, limits=LIMITS).passed
    assert judge(RIGHT, shared, box, limits=LIMITS).passed


@pytest.mark.parametrize(
    "attack",
    [
        "import sys\nprint(42)\nsys.exit(1)\n", "import os\nprint(42)\nos._exit(3)\n",
        "import os\nos.close(1)\n", "print(42)\nwhile True:\n    pass\n",
        "while True:\n    print(42)\n", "print(open('/proc/self/environ').read())\n",
        "import sys\nsys.stdout.buffer.write(b'42\\xff')\n", "print('42\x00')\n",
        "print('\udc80')\n",
    ],
)  # fmt: skip
def test_a_program_that_does_not_write_the_output_and_end_well_does_not_pass(attack, box):
    problem = CodeProblem(hidden=[{"kind": "stdio", "input": "41\n", "output": "42\n"}])
    verdict = judge(attack, problem, box, limits=Limits(seconds=0.5))
    assert not verdict.passed
    assert judge("print(int(input()) + 1)", problem, box, limits=Limits(seconds=10)).passed
