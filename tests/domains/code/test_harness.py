"""The program in the sandbox: a test's view of the solution, its time, size and imports."""

import time

import pytest

from dataenvgym.domains.code.sandboxed_tests import NOT_RUN
from dataenvgym.errors import EvaluationError
from dataenvgym.sandbox import Limits, open_sandbox
from tests.domains.code.problems import passed, program


def test_a_method_of_solution_goes_before_a_name_that_was_imported_by_a_star(judged, box):
    code = "class Solution:\n    def count(self, x):\n        return x + 1\n"
    for stars in ({"preamble": "from itertools import *\n"}, {"code": "from itertools import *\n"}):
        text = stars.pop("code", "") + code
        assert judged(text, box, entry_point="count", hidden=[[[1], {}, 2]], **stars).passed
    function = "def count(x):\n    return x + 1\n"
    fields = {"entry_point": "count", "preamble": "from itertools import *\n"}
    assert judged(function, box, hidden=[[[1], {}, 2]], **fields).passed


CHANGED = """
def f(items, table=None):
    items[0].append(9)
    items.sort(reverse=True)
    if table is not None:
        table["a"] = items
"""


@pytest.mark.parametrize(
    "lines",
    [
        ("d = [[1], [3]]", "one = d[0]", "f(d)", "assert one == [1, 9] and d == [[3], [1, 9]]"),
        ("t = {}", "f([[1]], table=t)", "assert t == {'a': [[1, 9]]}"),
        ("d = [[1], 2]", "try:\n    f(d)\nexcept TypeError: pass", "assert d == [[1, 9], 2]"),
    ],
)
def test_a_test_sees_what_changed_in_its_arguments(judged, lines, box):
    assert passed(judged(CHANGED, box, hidden=[program(*lines)])) == [True]


RAISING = """
class Own(LookupError):
    pass
def f(x):
    if x is None:
        raise Own("none", 1)
    if x == 0:
        raise ValueError(f)
    return {}[x]
"""


@pytest.mark.parametrize(
    "test",
    [
        program("try:\n    f('a')\nexcept KeyError as e:\n    assert e.args == ('a',), e.args"),
        program("try:\n    f((1,))\nexcept KeyError as e:\n    assert e.args == ((1,),), e.args"),
        program("try:\n    f(None)\nexcept LookupError as e:\n    assert e.args == ('none', 1)"),
        program("try:\n    f(0)\nexcept ValueError as e:\n    assert 'function f' in str(e)"),
        {"kind": "doctest", "text": ">>> f(None)\nTraceback (most recent call last):\nOwn: ...\n"},
    ],
)
def test_a_test_sees_an_exception_with_its_arguments(judged, test, box):
    assert passed(judged(RAISING, box, hidden=[test])) == [True]


def test_a_result_that_is_not_plain_data_is_not_reported_as_an_exception(judged, box):
    says = "def f(x):\n    raise TypeError('it returned a value of type x')\n"
    for test in ([[1], {}, 2], program("assert f(1) == 2")):
        (result,) = judged("def f(x):\n    return object()\n", box, hidden=[test]).results
        assert not result.passed
        assert result.is_no_data
        (result,) = judged(says, box, hidden=[test]).results
        assert not result.passed
        assert not result.is_no_data


def test_results_of_any_size_reach_the_asserts(judged, box):
    code = "def f(x):\n    return x if isinstance(x, int) else [x] * 50_000\n"
    long = "10 ** 6000"  # more digits than Python shows
    test = program(f"assert f({long}) == {long}", "assert f('a') == ['a'] * 50_000")
    assert judged(code, box, hidden=[test]).passed
    verdict = judged(code, box, hidden=[program(f"assert f({long}) == 1")])
    assert verdict.results[0].message.endswith("f(...) gave ...")


YIELDS = "def f(n):\n    i = 0\n    while i != n:\n        yield i\n        i += 1\n"


def test_an_iterator_is_not_cut_in_silence(judged, box):
    assert judged(YIELDS, box, hidden=[program("assert len([*f(10_000)]) == 10_000")]).passed
    verdict = judged(YIELDS, box, hidden=[program("assert len([*f(20_000)]) == 10_000")])
    assert "the iterator has more than 10000 items" in verdict.results[0].message
    endless = program("numbers = f(-1)", "assert [next(numbers) for _ in range(5)][4] == 4")
    assert judged(YIELDS, box, hidden=[endless]).passed


def test_an_iterator_is_shown_by_its_items(judged, box):
    (result,) = judged(YIELDS, box, hidden=[[[2], {}, [0, 1]]]).results
    assert result.message == "f(2) gave an iterator of [0, 1], expected [0, 1]"
    assert result.got == "iterator([0, 1])"
    (result,) = judged(YIELDS, box, hidden=[[[-1], {}, [0, 1]]]).results
    assert result.got.endswith("9998, 9999], ...)")


def test_an_exception_that_ends_iterations_does_not_end_a_test_as_passed(judged, box):
    code = "def f(x):\n    raise StopIteration\n"
    verdict = judged(code, box, hidden=[program("assert all(map(f, [1, 2]))")])
    assert passed(verdict) == [False]
    assert "RuntimeError: StopIteration" in verdict.results[0].message


def test_code_is_compiled_as_by_an_interpreter_of_its_own(judged, box):
    code = "def f(x: int) -> int:\n    return f.__annotations__['x'](x)\n"
    asserts = program("def g(x: int): pass", "assert f('3') == g.__annotations__['x']('3')")
    assert passed(judged(code, box, hidden=[[["3"], {}, 3], asserts])) == [True, True]


# --- time ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_seconds_are_those_of_each_test(judged, box):
    code = "import time\ntime.sleep(0.6)\ndef f(x):\n    time.sleep(0.6)\n    return x\n"
    tests = [[[0], {}, 0], [[1], {}, 1], program("assert f(2) == 2"), program("assert f(3) == 3")]
    assert passed(judged(code, box, hidden=tests, limits=Limits(seconds=1.5))) == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "test"),
    [
        ("import time\ndef f(x):\n    time.sleep(60 * (x == 1))\n    return x\n", [[1], {}, 1]),
        ("def f(x):\n    return x\n", program("while True:\n    pass")),
        ("import time\ndef f(x):\n    time.sleep(60 * (x == 1))\n", program("f(1)")),
    ],
)
def test_a_test_that_takes_longer_ends_the_run_long_before_the_others_time_is_over(
    judged, code, test, box
):
    tests = [[[0], {}, 0], test, *([[n], {}, n] for n in range(2, 50))]
    if "return" not in code:
        tests[0] = program("f(0)")
    start = time.monotonic()
    verdict = judged(code, box, hidden=tests, limits=Limits(seconds=1))
    assert time.monotonic() - start < 20
    assert passed(verdict) == [True, *[False] * 49]
    assert verdict.results[1].message == "the program ran out of time"
    assert verdict.results[2].message == NOT_RUN


# --- size ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tests_of_any_number_and_size_up_to_a_limit_reach_the_code(judged, box):
    limits = Limits(seconds=20, memory=2**30)
    text = "x" * (34 * 2**20)
    tests = [[[text], {}, len(text)], [[text], {}, len(text)]]  # more than a message together
    assert judged("def f(x):\n    return len(x)\n", box, hidden=tests, limits=limits).passed
    with pytest.raises(EvaluationError, match="run: it takes"):
        judged("def f(x): pass", box, hidden=[[["x"], {}, 1], [[2 * text], {}, 1]], limits=limits)


# --- what tests import --------------------------------------------------------------------------

RIGHT = "def f(x):\n    return x + 1\n"
WRONG = "def f(x):\n    import nowhere\n"


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize(
    "test",
    [
        program("import nowhere", "assert f(1) == 2"),
        program(
            "def check(g):\n    from nowhere.inside import x\n    assert g(1) == 2", "check(f)"
        ),
        {"kind": "doctest", "text": ">>> import nowhere\n>>> f(1)\n2\n"},
    ],
)
def test_a_test_whose_own_import_fails_is_an_error_and_not_a_wrong_answer(judged, test, share, box):
    with pytest.raises(EvaluationError, match="nowhere"):
        judged(RIGHT, box, hidden=[test], tests_share_process=share)


@pytest.mark.parametrize("share", [False, True])
def test_an_import_that_fails_in_the_code_is_a_wrong_answer(judged, share, box):
    verdict = judged(WRONG, box, hidden=[program("assert f(1) == 2")], tests_share_process=share)
    assert passed(verdict) == [False]
    assert "No module named 'nowhere'" in verdict.results[0].message
    lenient = program("try:\n    import nowhere\nexcept ImportError:\n    assert f(1) == 2")
    assert judged(RIGHT, box, hidden=[lenient], tests_share_process=share).passed


def test_a_preamble_that_fails_is_an_error_and_no_wrong_answer(judged, box):
    for test in ([[1], {}, 2], program("assert f(1) == 2")):
        with pytest.raises(EvaluationError, match="ModuleNotFoundError"):
            judged(RIGHT, box, preamble="import nowhere\n", hidden=[test])
    assert not judged("import nowhere\n" + RIGHT, box, hidden=[[[1], {}, 2]]).passed


def test_where_packages_are_there_tests_can_import_them(judged, bubblewrap):
    pytest.importorskip("numpy")
    test = program("import numpy as np", "assert np.allclose(f(np.array([1.0])), [2.0])")
    code = "def f(x):\n    return [x[0] + 1]\n"
    with open_sandbox("bubblewrap", packages=True) as box:
        assert judged(code, box, hidden=[test], limits=Limits(seconds=60)).passed
