import pytest

from dataenvgym.tasks.scoring.code.extraction import extract_code
from dataenvgym.tasks.scoring.code.syntax import with_helpers

HELPER = "def double(x):\n    return 2 * x\n"
CODE = "def f(x):\n    return double(x) + 1\n"


def fenced(*codes):
    return "So:\n".join(f"```python\n{code}```\n" for code in codes)


def value(code):
    namespace = {}
    exec(code, namespace)
    return namespace["f"](20)


@pytest.mark.parametrize(
    "codes",
    [
        (CODE, HELPER),
        ("def double(x):\n    return x\n", HELPER, CODE),
        (f"import math\n{HELPER.replace('2', 'math.ceil(TWO)')}", "TWO = 1.5\nprint(f(1))\n", CODE),
        ("import functools\n", f"@functools.cache\n{HELPER}", CODE),
        (HELPER, f'"""Doubles."""\nfrom __future__ import annotations\n\n{CODE}'),
        ("class double(int):\n    def __new__(cls, x):\n        return int(2 * x)\n", CODE),
    ],
)
def test_a_helper_in_another_fence_comes_along(codes):
    assert value(extract_code(fenced(*codes), "f")) == 41


@pytest.mark.parametrize(
    "other", ["print(double(1))\n", "f(1)\n", "double = make()\n", "def double(:\n", "x = 1\n"]
)
def test_unused_helpers_and_those_with_side_effects_are_left_out(other):
    assert with_helpers(CODE, [other]) == CODE
    whole = f"{HELPER}{CODE}"
    assert with_helpers(whole, ["def double(x):\n    return 0\n"]) == whole
    assert with_helpers("def f(:", [HELPER]) == "def f(:"
