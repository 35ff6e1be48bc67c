import pytest

from dataenvgym.tasks.code.extraction import extract_code

GOOD = "def f(x):\n    return x + 1\n"
BAD = "def f(x):\n    return x\n"
STARTER = """from typing import List


def f(x: int) -> int:
    '''Add one.
    >>> f(1)
    2
    '''
"""


def fenced(code, info="python", marks="```"):
    return f"{marks}{info}\n{code}{marks}\n"


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        fenced(GOOD),
        fenced(GOOD, info=""),
        fenced(GOOD, info="Python 3"),
        fenced(GOOD, marks="~~~"),
        fenced(GOOD, marks="````"),
        f"Sure! Here it is:\n\n{fenced(GOOD)}\nIt adds one.",
        f"Sure! Here it is:\n\n{GOOD}\nThis function adds one to x.\nDone.",
        f"Here:\n{GOOD}\nExplanation\n",
        f"First try:\n{fenced(BAD)}No, that is wrong:\n{fenced(GOOD)}",
        f"{fenced(GOOD)}Use it so:\n{fenced('print(f(1))' + chr(10))}",
        f"{fenced(GOOD)}Run:\n{fenced('pip install f' + chr(10), info='bash')}",
        f"{fenced(GOOD)}And then I would\n```python\ndef f(x):\n    retu",
        f"Here it is:\n```python\n{GOOD}",
        f"Here it is:\n```python\n{GOOD}\ndef g(y):\n    return (y +",
        f"Here it is:\n~~~\n{GOOD}",
        f"1. Like so:\n   ```python\n   {GOOD.replace(chr(10), chr(10) + '   ')}```\n",
    ],
)
def test_the_code_is_found_whatever_stands_around_it(reply):
    assert extract_code(reply, "f").strip() == GOOD.strip()


@pytest.mark.parametrize(
    "reply",
    [
        "    return x + 1\n",
        "return x + 1",
        fenced("    return x + 1\n"),
        fenced("return x + 1\n"),
        "    return x + 1\n\n\nThis returns x + 1, as it should.",
        "    if x:\n        return x + 1\n    return 1\n\nif __name__ == 'main\n",
    ],
)
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


PROGRAM = "n = int(input())\nprint(n * 2)\n"


@pytest.mark.parametrize("output", ["6\n", "YES\n", "1, 2\n3\n"])
def test_a_sample_of_output_behind_a_program_is_no_program(output):
    shown = f"For the input 3 it prints\n{fenced(output, info='')}"
    assert extract_code(fenced(PROGRAM) + shown, None) == PROGRAM


@pytest.mark.parametrize("behind", ["", "\nThis works.", "\nIt is\nquick."])
def test_marks_behind_the_last_line_of_code_close_the_fence(behind):
    assert extract_code(f"```python\n{GOOD.rstrip()}```{behind}", "f") == GOOD


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\x0c", "\x1c"])
def test_only_what_ends_a_line_in_python_ends_a_line(character):
    code = f"def f(x):\n    a = 'a{character}b'\n    return a.split('{character}')\n"
    assert extract_code(fenced(code), "f") == code
    assert extract_code(code, "f") == code


@pytest.mark.parametrize(
    "program",
    [
        "for i in range(int(input())):\n    print(i)\n",
        "n, m = map(int, input().split())\nprint(n + m)\n",
        "with open(0) as file:\n    print(len(file.read()))\n",
        "while True:\n    print(input())\n",
        "[print(i) for i in range(3)]\nprint(4)\n",
    ],
)
def test_a_program_without_a_fence_may_begin_with_any_statement(program):
    assert extract_code(program, None) == program


@pytest.mark.parametrize("reply", ["", "I cannot do that.", "Sorry", "```python\n", "f(x) = x + 1"])
def test_a_reply_without_code_has_none(reply):
    assert extract_code(reply, "f", starter=STARTER) is None
    assert extract_code(reply, None) is None


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "def f(x):\n" + "    x = (\n" * 20_000,
        "x = 1 +\n" * 20_000,
        "-" * 200_000 + "1",
        "a" + " " * 99_000,
        "def f(x):\n    return '\x00'\n",
        "```\n" * 20_000,
        "def f(x):\n    return " + "+".join(["x"] * 50_000),
    ],
)
def test_monstrous_replies_are_survived_in_reasonable_time(text):
    extract_code(text, "f", starter=STARTER)
    extract_code(f"```python\n{text}\n```", "f", starter=STARTER)
