"""Problems of code for tests: their rows, their tests, and a sandbox that fails."""

import json

from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.task import to_instance
from dataenvgym.errors import SandboxError
from dataenvgym.sandbox import Limits
from dataenvgym.tasks.rows import SourceRow

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


def program(*lines):
    return {"kind": "program", "code": "\n".join(lines) + "\n"}


def passed(verdict):
    return [result.passed for result in verdict.results]


def loaded(values, **options):
    instance = to_instance(SourceRow("rows-3", "rows.jsonl:3", values), task="t", **options)
    return instance, instance.data_as(CodeProblem)


class Broken:
    """A sandbox in which no run succeeds: each has this result, or fails."""

    def __init__(self, *, workers=1, result=SandboxError("gone")):  # noqa: B008
        self.result = result

    def run(self, code=None, **options):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def close(self):
        pass
