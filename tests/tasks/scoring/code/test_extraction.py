import textwrap
from itertools import product

import pytest

from dataenvgym.tasks.scoring.code import extraction, syntax
from dataenvgym.tasks.scoring.code.extraction import extract_code

GOOD = "def f(x):\n    return x + 1\n"
STARTER = """from typing import List


def f(x: int) -> int:
    '''Add one.
    >>> f(1)
    2
    '''
"""


def fenced(code, info="python", marks="```"):
    return f"{marks}{info}\n{code}{marks}\n"


SIGNATURE = "def f(x):\n"
PASSES = "def f(x):\n    pass\n"
USAGE = fenced("print(f(1))\n")

DOCUMENTED = '''def f(x):
    """Add one.

    {marks}{info}
    f(1)
    {marks}
    """
    return x + 1
'''
WRAPS = ["{}", "```python\n{}```\n", "```python\n{}", "So:\n\n{}\nThat is it."]


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_fence_in_a_docstring_belongs_to_the_code(wrap):
    for marks, indent, info in product(("```", "~~~"), ("  ", "    ", "\t"), ("", "python")):
        code = DOCUMENTED.replace("    ", indent).format(marks=marks, info=info)
        program = f"{code}print(f(1))\n"
        assert extract_code(wrap.format(code), "f") == code
        assert extract_code(wrap.format(program), None) == program


@pytest.mark.parametrize("stub", [SIGNATURE, PASSES, "def f(x):\n    '''Add one.'''\n"])
def test_a_stub_is_the_code_if_there_is_no_other(stub):
    assert extract_code(f"{fenced(stub)}{USAGE}", "f") == stub
    assert extract_code(f"So:\n\n{PASSES}\nI am stuck.", "f") == PASSES
    method = "class Solution:\n    def f(self, x):\n        return x\n"
    empty = "class Solution:\n    def f(self, x):\n        pass\n"
    assert extract_code(fenced(method) + fenced(empty), "f") == method
    assert extract_code(fenced(empty) + USAGE, "Solution.f") == empty


def test_a_body_behind_a_copy_of_the_starter_code_completes_it():
    reply = f"{fenced(STARTER)}Its body:\n{fenced('    return x + 1' + chr(10))}"
    assert extract_code(reply, "f", starter=STARTER) == f"{STARTER}    return x + 1\n"
    assert extract_code(fenced(STARTER), "f", starter=STARTER) == STARTER


def test_only_values_around_the_code_are_left_out():
    code = "'''Adds.'''\nimport math\n\nx: int = 1\n[print(x) for _ in range(2)]\nprint(x).y\n"
    assert extract_code(fenced(code), None) == code
    assert extract_code(fenced(f"{code}\nx, math.pi\n"), None) == code
    assert extract_code(fenced(f"Code\n@staticmethod\n{GOOD}"), "f") == f"@staticmethod\n{GOOD}"


@pytest.mark.parametrize(
    "reply",
    [
        "return x + 1", fenced("    return x + 1\n"),
        "    return x + 1\n\n\nThis returns x + 1, as it should.",
        "    if x:\n        return x + 1\n    return 1\n\nif __name__ == 'main\n",
    ],
)  # fmt: skip
def test_a_reply_that_is_only_a_body_completes_the_starter_code(reply):
    code = extract_code(reply, "f", starter=STARTER)
    namespace = {}
    exec(code, namespace)
    assert namespace["f"](41) == 42
    assert code.startswith(STARTER)


def test_the_entry_point_may_be_a_method_a_class_or_a_name_that_is_assigned():
    method = "class Solution:\n    def two(self):\n        return 2\n"
    other = "class Solution:\n    def one(self):\n        return 1\n"
    for name in ("two", "Solution.two"):
        assert extract_code(fenced(method) + fenced(other), name) == method
    assert extract_code(fenced("class Box:\n    pass\n") + fenced(other), "Box").startswith("class")
    assert extract_code(fenced("f = lambda x: x\n") + fenced(other), "f") == "f = lambda x: x\n"


def test_code_with_an_error_is_still_the_code():
    wrong = "def f(x):\n    return x +\n"
    assert extract_code(f"So:\n{fenced(wrong)}", "f") == wrong
    assert extract_code(f"{fenced(GOOD)}{fenced(wrong)}", "f") == wrong


def test_a_whole_program_is_the_last_fence_that_parses():
    program = "n = int(input())\nprint(n + 1)\n"
    assert extract_code(fenced("x =\n") + fenced(program) + fenced("1 2 3\n"), None) == program
    assert extract_code(f"So:\n{program}\nThat is all, I think.", None) == program
    assert extract_code(f"So:\n```\n{program}print(", None) == program
    silent = "import runpy\nrunpy.run_path('a.py')\n"  # it is not seen to write
    assert extract_code(f"So:\n{fenced(silent)}It gives\n{fenced('6' + chr(10))}", None) == silent


PROGRAM = "n = int(input())\nprint(n * 2)\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"{fenced(PROGRAM)}It prints\n{fenced('1, 2' + chr(10), info='')}",
        f"{fenced(PROGRAM)}Here `n` is read by\n{fenced('n = int(input())' + chr(10))}",
        f"{fenced(PROGRAM)}For\n{fenced('n = 1' + chr(10), info='')}it prints\n```\n2\n```\n",
        f"{fenced('import sys' + chr(10))}Then:\n```python\n{PROGRAM}",
        f"<think>\n{fenced('print(input())' + chr(10))}</think>\n{PROGRAM}",
        f"{PROGRAM}\nOutput: 6\n",
        f"Read it and double it.\n\n{PROGRAM}\nInput:\n```\n3\n```\n",
    ],
)
def test_a_program_is_the_piece_that_writes_something(reply):
    assert extract_code(reply, None) == PROGRAM


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0c", "\x1c"])
def test_only_pythons_line_ends_end_a_line(character):
    code = f"def f(x):\n    a = 'a{character}b'\n    return a.split('{character}')\n"
    assert extract_code(fenced(code), "f") == code
    assert extract_code(code, "f") == code


def test_a_program_without_a_fence_may_begin_with_any_statement():
    for first in ("n, m = map(int, input().split())", "[print(i) for i in range(3)]", "while 1: 2"):
        assert extract_code(f"{first}\nprint(4)\n", None) == f"{first}\nprint(4)\n"


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "Sorry", "```python\n", "f(x) = x + 1"])
def test_a_reply_without_code_has_none(reply):
    assert extract_code(reply, "f", starter=STARTER) is None
    assert extract_code(reply, None) is None


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000, "def f(x):\n" + "    x = (\n" * 20_000, "x = 1 +\n" * 20_000,
        "-" * 200_000 + "1", "a" + " " * 99_000, "def f(x):\n    return '\x00'\n",
        "```\n" * 20_000, "```" + " " * 100_000 + "`", "```\n'''\n" + "    ```\n" * 20_000,
        "```python\ndef f(x):\n    return (\n" * 3_000, "</think>" * 10_000,
        "def f(x):\n    return " + "+".join(["x"] * 50_000),
    ],
)  # fmt: skip
def test_monstrous_replies_are_survived_in_reasonable_time(text):
    extract_code(text, "f", starter=STARTER)
    extract_code(f"```python\n{text}\n```", "f", starter=STARTER)


UNCLOSED = ("x = (1,\n" + "    2,\n" * 100) * 150


@pytest.mark.parametrize("entry_point", ["f", None])
@pytest.mark.parametrize("text", [UNCLOSED, f"```python\n{UNCLOSED}"])
def test_the_search_for_code_parses_a_bounded_number_of_characters(text, entry_point, monkeypatch):
    parsed = []
    parse = syntax.parse

    def counting(code):
        parsed.append(len(code))
        return parse(code)

    for module in (syntax, extraction):
        monkeypatch.setattr(module, "parse", counting)
    extract_code(text, entry_point, starter=STARTER)
    assert parsed
    assert sum(parsed) < 2_000_000


@pytest.mark.parametrize("margin", ["", "    "])
def test_blanks_in_a_string_are_kept_without_a_fence(margin):
    code = "def f():\n    return '''a\n  \n        b'''\n"
    for reply in (code, f"So:\n\n{code}\nThat is it."):
        reply = textwrap.indent(reply, margin, lambda line: line != "\n")
        assert extract_code(reply, "f") == code
