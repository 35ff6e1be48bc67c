import pytest

from dataenvgym.domains.code.problem import ProgramTest
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.errors import InvalidInstanceError
from tests.domains.code.problems import HUMANEVAL, LIMITS, MBPP, loaded, passed, program


def test_a_row_of_humaneval_keeps_its_helpers_and_hides_its_tests(box):
    instance, problem = loaded(HUMANEVAL)
    assert (instance.id, instance.instruction) == ("HumanEval/38", HUMANEVAL["prompt"])
    assert instance.answer == HUMANEVAL["prompt"] + HUMANEVAL["canonical_solution"]
    assert (problem.public, len(problem.hidden)) == ((), 1)
    assert "def twice" in problem.preamble
    assert "def f" not in problem.preamble
    assert judge("def f(x):\n    return x / 2\n", problem, box, limits=LIMITS).passed
    assert not judge("def f(x):\n    return x\n", problem, box, limits=LIMITS).passed


def test_a_row_of_mbpp_shows_its_tests_and_sets_them_up(box):
    instance, problem = loaded(MBPP)
    assert instance.id == "7"
    assert instance.instruction.endswith("assert add(1) == 2\nassert add(2) == ONE + 2")
    assert problem.entry_point == "add"
    assert [len(problem.public), len(problem.hidden)] == [2, 1]
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    assert judge("def add(x): return abs(x) + 1", problem, box, limits=LIMITS).share == 2 / 3
    newer = {k: v for k, v in MBPP.items() if k not in ("text", "test_setup_code")}
    newer |= {"prompt": "Add one.", "test_imports": ["import math", "ONE = 1"]}
    assert judge(problem.solution, loaded(newer)[1], box, limits=LIMITS).passed


def test_a_row_of_mbpp_plus_is_also_judged_by_its_own_asserts(box):
    asserts = "for x, right in zip([5, -1], [6, 0]):\n    assert add(x) == right\n"
    instance, problem = loaded(MBPP | {"challenge_test_list": None, "test": asserts})
    assert "zip" not in instance.instruction
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    wrong = judge("def add(x): return abs(x) + 1", problem, box, limits=LIMITS)
    assert passed(wrong) == [True, True, False]


def test_fields_that_are_null_are_as_if_they_were_absent():
    nulls = ("test_imports", "challenge_test_list", "test_setup_code", "test", "code")
    assert len(loaded(MBPP | dict.fromkeys(nulls))[1].tests) == 2
    assert loaded(MBPP | {"task_id": None})[0].id == "rows-3"
    assert loaded(MBPP | {"task_id": 0})[0].id == "0"


@pytest.mark.parametrize("in_setup", [True, False])
def test_a_row_of_mbpp_whose_tests_make_the_solutions_objects_accepts_its_solution(in_setup, box):
    solution = "class Pair:\r\n\tdef __init__(self, a):\r\n\t\tself.a = a\r\n"
    solution += "def first(pairs):\r\n\treturn pairs[0].a"
    made = "pairs = [Pair(5), Pair(6)]"
    row = {
        "task_id": 1,
        "text": "The first one of the pairs.",
        "code": solution,
        "test_setup_code": made if in_setup else "",
        "test_list": [f"assert first({'pairs' if in_setup else made.partition(' = ')[2]}) == 5"],
    }
    problem = loaded(row)[1]
    assert problem.tests_share_process
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    wrong = problem.solution.replace("pairs[0]", "pairs[1]")
    assert not judge(wrong, problem, box, limits=LIMITS).passed
    assert not loaded(MBPP)[1].tests_share_process


def test_our_own_format_has_the_fields_of_a_problem(box):
    tests = [program("assert f(2) == 3"), {"kind": "doctest", "text": ">>> f(3)\n4"}]
    row = {"id": "add", "instruction": "Write f.", "entry_point": "f", "public": [[[1], {}, 2]]}
    row |= {"files": {"one.py": "ONE = 1\n"}, "tests": tests, "skill": "sums"}
    row |= {"solution": "from one import ONE\ndef f(x):\n    return x + ONE\n"}
    instance, problem = loaded(row | {"category": "numbers"})
    assert (instance.id, instance.skill, instance.category) == ("add", "sums", "numbers")
    assert instance.answer == instance.data["solution"] == problem.solution
    assert problem.hidden[0] == ProgramTest(code="assert f(2) == 3\n")
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    bare = {"instruction": "?", "tests": [{"kind": "stdio", "output": "1"}]}
    assert loaded(bare)[0].id == "rows-3"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"prompt": "?"}, r"rows\.jsonl:3: the fields are prompt, expected those of one of"),
        ({"instruction": "?"}, "no tests, expected at least one"),
        ({"instruction": "?", "tests": [[[1], {}, 2]]}, "needs an entry_point"),
        ({"instruction": "?", "tests": [[1]]}, "tests|hidden"),
        ({"instruction": "?", "tests": [{"kind": "magic"}]}, "tag 'magic'"),
        ({"instruction": "?", "tests": [], "entrypoint": "f"}, "entrypoint is"),
        ({"instruction": 7, "tests": []}, "instruction is 7"),
        ({"instruction": "?", "tests": 5}, "tests is 5"),
        ({"instruction": "?", "tests": None}, "no tests, expected at least one"),
        ({"instruction": "?", "tests": [], "hidden": 5}, "hidden is 5"),
        (HUMANEVAL | {"test": None}, "test: Field required"),
        (HUMANEVAL | {"canonical_solution": 5}, "canonical_solution is 5"),
        (MBPP | {"test_list": "assert add(1) == 2"}, "test_list is"),
        (MBPP | {"test_list": [1]}, "test_list.0 is 1"),
        (MBPP | {"test_list": None, "challenge_test_list": None}, "no tests, expected at least"),
        (MBPP | {"test": ["assert add(1) == 2"]}, "test is "),
    ],
)
def test_invalid_rows_are_refused_with_the_line(values, reason):
    with pytest.raises(InvalidInstanceError, match=reason):
        loaded(values)
