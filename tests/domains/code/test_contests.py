import base64
import json
import pickle
import zlib

import pytest

from dataenvgym.domains.code.problem import CallTest, StdioTest
from dataenvgym.domains.code.sandboxed_tests import judge
from dataenvgym.domains.code.task import to_instance
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.tasks.rows import SourceRow, UnfitRowError
from tests.domains.code.problems import APPS, HIDDEN, LCB, LIMITS, loaded

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


def packed(value):
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def test_a_row_of_apps_is_a_program_or_a_function(box):
    instance, problem = loaded(APPS)
    assert (instance.id, instance.skill) == ("12", "interview")
    assert instance.instruction.endswith("Read the input from stdin, write to stdout.")
    cases = (("1\n", "2\n"), ("2\n3", "3\n"))
    assert problem.hidden == tuple(StdioTest(input=i, output=o) for i, o in cases)
    assert judge(problem.solution, problem, box, limits=LIMITS).passed
    instance, problem = loaded(APPS_CALL)
    assert problem.entry_point == "addOne"
    assert "class Solution" in instance.instruction
    assert isinstance(problem.hidden[0], CallTest)
    code = "class Solution:\n    def addOne(self, xs):\n        return [x + 1 for x in xs]\n"
    assert judge(code, problem, box, limits=LIMITS).passed


def call_of_apps(inputs, outputs):
    io = {"fn_name": "addOne", "inputs": inputs, "outputs": outputs}
    return loaded(APPS_CALL | {"input_output": json.dumps(io)})[1]


def test_solutions_of_apps_may_use_the_imports_of_its_evaluator(box):
    code = f"{loaded(APPS_CALL)[1].starter}return sorted(x + 1 for x in xs)\n"  # List is in there
    problem = call_of_apps([[[1, 2]]], [[[2, 3]]])
    assert judge(code, problem, box, limits=LIMITS).passed
    io = {"inputs": ["10"], "outputs": ["3"]}
    problem = loaded(APPS | {"input_output": json.dumps(io)})[1]
    code = "q = [floor(sqrt(x)) for x in deque([int(input())])]\nheapify(q)\nprint(q[0])"
    assert judge(code, problem, box, limits=LIMITS).passed
    assert judge("print(len(str(10**5000)) - 4998)", problem, box, limits=LIMITS).passed


def test_results_of_calls_of_apps_are_compared_exactly_and_outputs_nearly(box):
    problem = call_of_apps([[100_000]], [[123_456.78]])
    assert judge("def addOne(x): return 123456.78", problem, box, limits=LIMITS).passed
    assert not judge("def addOne(x): return 123456", problem, box, limits=LIMITS).passed
    problem = loaded(APPS | {"input_output": '{"inputs": [""], "outputs": ["1\\n\\n0.5"]}'})[1]
    assert judge("print('1\\n0.5000001\\n')", problem, box, limits=LIMITS).passed
    assert not judge("print('1\\n0.51')", problem, box, limits=LIMITS).passed


def test_calls_of_apps_get_back_the_numbers_that_were_keys(box):
    problem = call_of_apps([[{"1": 2}, 3]], [[{"4": 2}]])
    code = "def addOne(d, n): return {k + n: v for k, v in d.items()}"
    assert judge(code, problem, box, limits=LIMITS).passed
    assert not judge("def addOne(d, n): return d", problem, box, limits=LIMITS).passed
    problem = call_of_apps([[{"a": 2}]], [{"a": 3}])
    code = "def addOne(d): return {k: v + 1 for k, v in d.items()}"
    assert judge(code, problem, box, limits=LIMITS).passed


@pytest.mark.parametrize(
    "io", ["", None, "{}", {"inputs": [], "outputs": []}, '{"inputs": [], "outputs": []}']
)
def test_a_row_of_apps_without_tests_is_not_a_problem(io):
    row = SourceRow("rows-3", "rows.jsonl:3", APPS | {"input_output": io})
    with pytest.raises(UnfitRowError, match=r"rows\.jsonl:3: no tests"):
        to_instance(row, task="t")


@pytest.mark.parametrize(
    ("row", "field", "value"),
    [
        *((APPS, "input_output", v) for v in ("{", "[1]", '{"inputs": [1], "outputs": []}')),
        (APPS, "input_output", '{"inputs": null, "outputs": null}'),
        *((APPS, "solutions", value) for value in ('{"a": 1}', "[1]")),
        *((APPS, "starter_code", 5), (APPS, "question", None)),
        *((LCB, "public_test_cases", v) for v in ("[1]", "5", [{"input": 1, "output": "2"}])),
        *((LCB, "private_test_cases", value) for value in (5, packed("5"))),
        (LCB, "metadata", "[1]"),
    ],
)
def test_invalid_rows_are_refused_with_line_and_field(row, field, value):
    with pytest.raises(InvalidInstanceError, match=rf"rows\.jsonl:3.*(?:{field[:8]}|a test is)"):
        loaded(row | {field: value})


def test_numbers_may_have_any_number_of_digits(box):
    digits = "9" * 20_000
    io = f'{{"fn_name": "f", "inputs": [[-{digits}]], "outputs": [{digits}]}}'
    problem = loaded(APPS_CALL | {"input_output": io})[1]
    assert judge("def f(x): return -x", problem, box, limits=LIMITS).passed
    assert not judge("def f(x): return -x - 1", problem, box, limits=LIMITS).passed
    problem = loaded(APPS | {"input_output": f'{{"inputs": [{digits}], "outputs": [{digits}]}}'})[1]
    assert problem.hidden == (StdioTest(input=digits, output=digits),)


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
    starter = "class Solution:\n    def put(self, xs: List[int], s: str):\n        "
    row = {"public_test_cases": json.dumps([test]), "private_test_cases": ""}
    row |= {"metadata": json.dumps({"func_name": "put"}), "starter_code": starter}
    instance, problem = loaded(LCB | row)
    assert "Complete this code" in instance.instruction
    assert problem.public == (CallTest(args=([1, 2], "ab"), expected=[1, 2, 2]),)
    code = f"{problem.starter}return xs + [len(s)]\n"
    assert judge(code, problem, box, limits=LIMITS).passed


@pytest.mark.parametrize("metadata", ["{}", "", None, json.dumps({"func_name": None}), {}])
@pytest.mark.parametrize(
    "before", ["", "# class Node:\n#     def lost(self):\nclass Node:\n    def get(self): ...\n\n"]
)
def test_the_starter_code_names_the_method_if_the_metadata_do_not(box, metadata, before):
    test = {"input": "[1, 2]", "output": "[2, 1]", "testtype": "functional"}
    starter = f"{before}class Solution:\n    def turn(self, xs: List[int]) -> List[int]:\n        "
    row = {"public_test_cases": json.dumps([test]), "private_test_cases": "", "metadata": metadata}
    problem = loaded(LCB | row | {"starter_code": starter})[1]
    assert problem.public == (CallTest(args=([1, 2],), expected=[2, 1]),)
    code = "class Solution:\n    def turn(self, xs):\n        return xs[::-1]\n"
    assert judge(code, problem, box, limits=LIMITS).passed
    assert not judge(code.replace("[::-1]", ""), problem, box, limits=LIMITS).passed
    with pytest.raises(UnfitRowError, match="functional"):
        loaded(LCB | row | {"starter_code": "# def lost(): a comment"})


class Boom:
    def __reduce__(self):
        return (print, ("boom",))


@pytest.mark.parametrize(
    ("packed_tests", "reason"),
    [
        (packed(Boom()), "it names builtins.print"),
        (packed([1, 2]), "a pickle of list"),
        (packed("[1,"), "not JSON"),
        (base64.b64encode(b"garbage").decode(), "cannot be unpacked"),
        (base64.b64encode(zlib.compress(b"garbage")).decode(), "unpacked|not a pickle"),
    ],
)
def test_packed_tests_that_are_not_text_are_refused_without_being_run(packed_tests, reason, capsys):
    with pytest.raises(InvalidInstanceError, match=rf"rows\.jsonl:3.*(?:{reason})"):
        loaded(LCB | {"private_test_cases": packed_tests})
    assert capsys.readouterr().out == ""


def test_outputs_of_both_are_whole_numbers_by_value(box):
    apps = loaded(APPS | {"input_output": '{"inputs": ["1"], "outputs": ["007"]}'})[1]
    tests = json.dumps([{"input": "1", "output": "007", "testtype": "stdin"}])
    contest = loaded(LCB | {"public_test_cases": tests, "private_test_cases": "[]"})[1]
    for problem in (apps, contest):
        assert judge("print(7)", problem, box, limits=LIMITS).passed
        own = problem.model_copy(update={"integers_by_value": False})
        assert not judge("print(7)", own, box, limits=LIMITS).passed


def test_empty_lines_count_in_outputs_of_livecodebench(box):
    tests = [{"input": "", "output": "1\n\n2\n", "testtype": "stdin"}]
    problem = loaded(LCB | {"public_test_cases": tests, "private_test_cases": ""})[1]
    assert judge("print('1\\n\\n2')", problem, box, limits=LIMITS).passed
    assert not judge("print('1\\n2')", problem, box, limits=LIMITS).passed
