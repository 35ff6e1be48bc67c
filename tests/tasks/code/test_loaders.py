import base64
import json
import pickle
import zlib

import pytest

from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.sandbox import Limits
from dataenvgym.tasks.code.judging import judge
from dataenvgym.tasks.code.loaders import to_instance
from dataenvgym.tasks.code.problem import CallTest, ProgramTest, StdioTest, problem_of
from dataenvgym.tasks.sources import Row

LIMITS = Limits(seconds=5)
HUMANEVAL = {
    "task_id": "HumanEval/38",
    "prompt": "import math\n\ndef twice(x):\n    return 2 * x\n\ndef f(x):\n    '''Half of x.'''\n",
    "entry_point": "f",
    "canonical_solution": "    return x / 2\n",
    "test": "def check(candidate):\n    assert candidate(twice(3)) == 3 != candidate(3)\n",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to add one.",
    "code": "def helper(x):\r\n  return x\r\ndef add(x):\r\n  return helper(x) + 1\r\n",
    "test_list": ["assert add(1) == 2", "assert add(2) == ONE + 2"],
    "test_setup_code": "ONE = 1",
    "challenge_test_list": ["assert add(-1) == 0"],
}
APPS = {
    "problem_id": 12,
    "question": "Add one.",
    "solutions": json.dumps(["print(int(input()) + 1)", "pass"]),
    "input_output": json.dumps({"inputs": ["1\n", ["2", "3"]], "outputs": ["2\n", ["3", ""]]}),
    "difficulty": "interview",
    "starter_code": "",
}
APPS_CALL = {
    "problem_id": 13,
    "question": "Add one to all.",
    "solutions": "",
    "input_output": json.dumps(
        {"fn_name": "addOne", "inputs": [[[1, 2]], [[3]]], "outputs": [[[2, 3]], [4]]}
    ),
    "difficulty": "introductory",
    "starter_code": "class Solution:\n    def addOne(self, xs: List[int]) -> List[int]:\n        ",
}
TESTS = [{"input": "1\n", "output": "2\n", "testtype": "stdin"}]
HIDDEN = [{"input": "5\n", "output": "6\n", "testtype": "stdin"}]
LCB = {
    "question_id": "abc301_a",
    "question_content": "Add one.",
    "platform": "atcoder",
    "difficulty": "easy",
    "starter_code": "",
    "public_test_cases": json.dumps(TESTS),
    "private_test_cases": json.dumps(HIDDEN),
    "metadata": "{}",
}


def packed(value):
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def loaded(values, **options):
    instance = to_instance(Row("rows-3", "rows.jsonl:3", values), task="t", **options)
    return instance, problem_of(instance)


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


def test_a_row_of_apps_is_a_program_or_a_function(box):
    instance, problem = loaded(APPS)
    assert (instance.id, instance.skill) == ("12", "interview")
    assert instance.instruction.endswith("Read the input from stdin, write to stdout.")
    assert problem.hidden == (
        StdioTest(input="1\n", output="2\n"),
        StdioTest(input="2\n3", output="3\n"),
    )
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    instance, problem = loaded(APPS_CALL)
    assert problem.entry_point == "addOne"
    assert "class Solution" in instance.instruction
    assert isinstance(problem.hidden[0], CallTest)
    code = "class Solution:\n    def addOne(self, xs):\n        return [x + 1 for x in xs]\n"
    assert judge(code, problem, box, limits=LIMITS).passed


def test_numbers_longer_than_records_may_hold_stay_exact(box):
    io = {"fn_name": "addOne", "inputs": [[10**30]], "outputs": [10**30 + 1]}
    _, problem = loaded(APPS_CALL | {"input_output": json.dumps(io)})
    assert isinstance(problem.hidden[0], ProgramTest)
    assert judge("def addOne(x): return x + 1", problem, box, limits=LIMITS).passed
    assert not judge("def addOne(x): return x", problem, box, limits=LIMITS).passed


@pytest.mark.parametrize("pack", [json.dumps, lambda tests: packed(json.dumps(tests)), list])
def test_a_row_of_livecodebench_has_public_and_private_tests(pack, box):
    instance, problem = loaded(LCB | {"private_test_cases": pack(HIDDEN)})
    assert (instance.id, instance.category, instance.skill) == ("abc301_a", "atcoder", "easy")
    assert problem.public == (StdioTest(input="1\n", output="2\n"),)
    assert problem.hidden == (StdioTest(input="5\n", output="6\n"),)
    assert judge("print(floor(int(input())) + 1)", problem, box, limits=LIMITS).passed
    assert judge("print(2)", problem, box, limits=LIMITS).share == 0.5


def test_a_functional_row_of_livecodebench_calls_a_method(box):
    test = {"input": '[1, 2]\n"ab"', "output": "[1, 2, 2]", "testtype": "functional"}
    instance, problem = loaded(
        LCB
        | {
            "public_test_cases": json.dumps([test]),
            "private_test_cases": "",
            "metadata": json.dumps({"func_name": "put"}),
            "starter_code": "class Solution:\n    def put(self, xs: List[int], s: str):\n        ",
        }
    )
    assert "Complete this code" in instance.instruction
    assert problem.public == (CallTest(args=([1, 2], "ab"), expected=[1, 2, 2]),)
    code = f"{problem.starter}return xs + [len(s)]\n"
    assert judge(code, problem, box, limits=LIMITS).passed


class Boom:
    def __reduce__(self):
        return (print, ("boom",))


@pytest.mark.parametrize(
    ("packed_tests", "reason"),
    [
        (packed(Boom()), "it names builtins.print"),
        (packed([1, 2]), "a pickle of list, expected a text"),
        (packed("[1,"), "no JSON"),
        (base64.b64encode(zlib.compress(b"garbage")).decode(), "unpacked|no pickle"),
        (base64.b64encode(b"garbage").decode(), "cannot be unpacked"),
        ("no base64 at all!", "cannot be unpacked"),
    ],
)
def test_packed_tests_that_are_no_text_are_refused_without_being_run(packed_tests, reason, capsys):
    with pytest.raises(InvalidInstanceError, match=rf"rows\.jsonl:3.*(?:{reason})"):
        loaded(LCB | {"private_test_cases": packed_tests})
    assert capsys.readouterr().out == ""


def test_our_own_format_has_the_fields_of_a_problem(box):
    instance, problem = loaded(
        {
            "id": "add",
            "instruction": "Write f.",
            "entry_point": "f",
            "files": {"one.py": "ONE = 1\n"},
            "public": [[[1], {}, 2]],
            "tests": [
                {"kind": "program", "code": "assert f(2) == 3"},
                {"kind": "doctest", "text": ">>> f(3)\n4"},
            ],
            "solution": "from one import ONE\ndef f(x):\n    return x + ONE\n",
            "skill": "sums",
            "category": "numbers",
        }
    )
    assert (instance.id, instance.skill, instance.category) == ("add", "sums", "numbers")
    assert instance.answer == instance.data["solution"] == problem.solution
    assert problem.hidden[0] == ProgramTest(code="assert f(2) == 3")
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    assert (
        loaded({"instruction": "?", "tests": [{"kind": "stdio", "output": "1"}]})[0].id == "rows-3"
    )


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"prompt": "?"}, r"rows\.jsonl:3: the fields are prompt, expected those of one of"),
        ({"instruction": "?"}, "no tests, expected at least one"),
        ({"instruction": "?", "tests": [[[1], {}, 2]]}, "needs an entry_point"),
        ({"instruction": "?", "tests": [[1]]}, "a list of 1, expected"),
        ({"instruction": "?", "tests": [{"kind": "magic"}]}, "tag 'magic'"),
        ({"instruction": "?", "tests": [], "entrypoint": "f"}, "entrypoint: Extra inputs"),
        ({"instruction": 7, "tests": []}, "field 'instruction': found int 7, expected text"),
        (APPS | {"input_output": "{"}, "field 'input_output': no JSON"),
        (APPS | {"input_output": '{"inputs": [1], "outputs": []}'}, "as many inputs as outputs"),
        (LCB | {"public_test_cases": "[1]"}, "a test is 1, expected input and output"),
        (HUMANEVAL | {"test": None}, "field 'test': found NoneType None"),
    ],
)
def test_rows_that_are_no_problem_are_refused_naming_the_line(values, reason):
    with pytest.raises(InvalidInstanceError, match=reason):
        loaded(values)


def test_a_format_can_be_given_and_must_exist():
    with pytest.raises(InvalidInstanceError, match="field 'entry_point': found nothing"):
        loaded({"prompt": "?", "test": "?"}, format="humaneval")
    with pytest.raises(ConfigurationError, match="Did you mean 'mbpp'"):
        loaded(MBPP, format="mbp")
