import pytest

from dataenvgym.domains.code.problem import DoctestTest, ProgramTest
from dataenvgym.domains.code.static_analysis import (
    called_function,
    emptied,
    normalized,
    problem_in,
    surroundings,
)

QUESTION = """Write a function that adds one. Your code should pass these tests:

assert add(1) == 2
> assert add([
    1]) == [2]
I assert that it works.
assert add(
"""


def test_the_asserts_in_a_question_are_its_tests():
    problem = problem_in(QUESTION)
    assert problem.entry_point == "add"
    assert problem.public == (
        ProgramTest(code="assert add(1) == 2"),
        ProgramTest(code="assert add([\n    1]) == [2]"),
    )
    assert problem.starter == ""


def test_the_examples_in_a_docstring_are_tests_and_the_function_is_the_starter():
    question = (
        "Complete:\n```python\nimport math\n\ndef one():\n    return 1\n\ndef f(x):\n"
        '    """Add.\n    >>> f(one())\n    2\n    """\n```\nGood luck.'
    )
    problem = problem_in(question)
    assert problem.entry_point == "f"
    assert isinstance(problem.public[0], DoctestTest)
    assert problem.starter.startswith("import math")
    assert "def one" in problem.preamble
    assert "def f" not in problem.preamble


@pytest.mark.parametrize("question", ["", "Write f.", "What do you assert?", "1 >> 2"])
def test_a_question_without_tests_puts_no_problem_that_can_be_judged(question):
    assert problem_in(question) is None


def test_the_function_that_tests_are_about_is_the_one_they_call():
    assert called_function("assert sorted(f(1)) == s.sorted(g(2)) + f(3)") == "f"
    assert called_function("assert len([1]) == 1") is None
    assert called_function("assert f(g(1))", "def f(x): ...\ndef h(x): ...") == "f"
    assert called_function("assert f(1)", "class f: ...") is None


def test_an_emptied_function_keeps_its_arguments_and_what_is_around_it():
    code = "import math\ndef f(x, *, y=1):\n    '''Doc.'''\n    return x\n"
    assert emptied(code, "f") == "import math\n\ndef f(x, *, y=1):\n    pass"
    assert emptied(code, "g") is None
    assert emptied("def f(", "f") is None
    assert surroundings(code + "assert f(1)\nprint(2)\n", "f") == "import math"


def test_layout_comments_and_docstrings_do_not_make_another_code():
    one = "def f(x):\n    '''Doc.'''\n    return x  # so\n"
    assert normalized(one) == normalized("def f( x ):\n  return (x)\n")
    assert normalized(one) != normalized("def f(x):\n    return -x\n")
    assert normalized(" def f(") == "def f("
