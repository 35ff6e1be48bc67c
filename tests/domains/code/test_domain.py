"""Judging training records, and equality of replies, in code tasks."""

import json

import numpy as np
import pytest

from dataenvgym.agents import Assignment, RejectionSamplingEngine
from dataenvgym.agents.quality import WrongAnswerCheck
from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.domains.code.task import CodeTask, to_instance
from dataenvgym.errors import SandboxError
from dataenvgym.interfaces import Failure
from dataenvgym.records import (
    CompletedTaskInstance,
    KTODatum,
    Message,
    PreferenceDatum,
    SupervisedDatum,
    TaskInstance,
    TextDatum,
)
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.rows import SourceRow
from tests.domains.code.problems import Broken
from tests.fakes import Student

RIGHT = "```python\ndef add(x):\n    return x + 1\n```"
WRONG = "```python\ndef add(x):\n    return x\n```"
ASSERTS = "Write add. It should pass:\nassert add(1) == 2\nassert add(2) == 3"
DOCTEST = "```python\ndef add(x):\n    '''Add one.\n    >>> add(1)\n    2\n    '''\n```"


@pytest.fixture(scope="module")
def task(tmp_path_factory, bubblewrap):
    path = tmp_path_factory.mktemp("code") / "train.jsonl"
    row = {"instruction": "Plus one, as add.", "entry_point": "add", "tests": [[[5], {}, 6]]}
    path.write_text(json.dumps(row))
    task = CodeTask({"train": path}, template="{instruction}\nReply with code.")
    yield task
    task.close()


@pytest.mark.parametrize("question", [ASSERTS, DOCTEST, "Plus one, as add.\nReply with code."])
def test_a_record_is_right_if_its_code_passes_the_tests_of_its_question(question, task):
    assert task.domain.judge_record(SupervisedDatum(instruction=question, output=RIGHT)) is True
    assert task.domain.judge_record(SupervisedDatum(instruction=question, output=WRONG)) is False
    assert task.domain.judge_record(SupervisedDatum(instruction=question, output="No.")) is False


def test_pairs_and_undesirable_answers_claim_that_code_is_wrong(task):
    pair = PreferenceDatum(instruction=ASSERTS, chosen=RIGHT, rejected=WRONG)
    assert task.domain.judge_record(pair) is True
    turned = PreferenceDatum(instruction=ASSERTS, chosen=WRONG, rejected=RIGHT)
    assert task.domain.judge_record(turned) is False
    bad = KTODatum(instruction=ASSERTS, output=WRONG, desirable=False)
    assert task.domain.judge_record(bad) is True


def test_a_record_without_tests_or_with_tests_that_cannot_be_run_is_left_open(task):
    assert task.domain.judge_record(SupervisedDatum(instruction="Write add.", output=RIGHT)) is None
    assert task.domain.judge_record(TextDatum(text="assert add(1) == 2")) is None
    unfit = SupervisedDatum(instruction="assert add(lambda: 1) == 2", output=RIGHT)
    assert task.domain.judge_record(unfit) is None


ADD = "Write add.\n"
COUNTER = "class Counter:\n    def __init__(self, n):\n        self.n = n"


@pytest.mark.parametrize(
    ("question", "answer", "holds"),
    [
        (f"{ADD}result = add(1)\nassert result == 2", RIGHT, None),
        (f"{ADD}from math import pi\nassert add(pi) == pi + 1", RIGHT, None),
        (f"{ADD}assert add(x) == 2 for x = 1\nassert add(x) == 2", RIGHT, None),
        (f"{ADD}assert add(1) == 2\nfor i in range(3):\n    assert add(i) == i + 1", RIGHT, True),
        (f"{ADD}assert add(1) == 2\nassert add(y) == 3", WRONG, False),
        (f"{ADD}assert [add(i) for i in (1, 2)] == [2, math.floor(3.1)]", RIGHT, True),
        (f"{ADD}assert [add(i) for i in (1, 2)] == [2, math.floor(3.1)]", WRONG, False),
        (f"{ADD}assert add(1) == 2", "```python\ndef other(x):\n    return x\n```", False),
        ("assert adder(1)(2) == 3", "def adder(n):\n    return lambda x: x + n", None),
        ("Write add, which adds one.\nassert True", WRONG, None),
        (f"{ADD}assert 1 == 1\nassert add(1) == 2", WRONG, False),
        (f"{ADD}>>> 1 + 1\n2", WRONG, None), (f"{ADD}>>> x = 1\n>>> add(x)\n2", WRONG, False),
        (f"{ADD}assert add(1) == 2", "def add(x):\n    raise TypeError('it returned ')", False),
        (f"{ADD}assert add(1) == 2", "def add(x):\n    return object()", None),
        (">>> c = Counter(2)\n>>> c.n\n2", f"```python\n{COUNTER}\n```", None),
    ],
)  # fmt: skip
def test_a_record_is_judged_by_those_tests_of_its_question_that_can_tell(
    question, answer, holds, task
):
    assert task.domain.judge_record(SupervisedDatum(instruction=question, output=answer)) is holds


def test_a_sandbox_that_fails_leaves_a_record_unjudged_and_the_check_counts_it(tmp_path):
    broken = CodeTask(tmp_path / "none.jsonl", sandbox=Broken)
    broken._loaded["train"] = (
        TaskInstance(
            id="1", task="t", instruction="?", data={"hidden": [{"kind": "stdio", "output": "1"}]}
        ),
    )
    record = SupervisedDatum(instruction=ASSERTS, output=RIGHT)
    with pytest.raises(SandboxError, match="gone"):
        broken.domain.judge_record(record)
    (verdict,) = WrongAnswerCheck(broken).passes([record], ScriptedPredictor([]))
    assert isinstance(verdict, Failure)
    assert "gone" in verdict.reason


def instance(**fields):
    problem = CodeProblem(entry_point="add", **fields)
    return TaskInstance(id="a", task="t", instruction="?", data=problem.data())


def test_a_reply_has_an_answer_if_it_has_code_which_is_not_run_for_that(task, monkeypatch):
    monkeypatch.setattr(task.domain.sandbox, "box", lambda: pytest.fail("the code was run"))
    calls = instance(hidden=[[[1], {}, 2]])
    tries = [
        CompletedTaskInstance(
            instance=calls,
            transcript=(Message(role="assistant", content=reply),),
            reward=0.0,
            was_correct=False,
        )
        for reply in (RIGHT, WRONG, "I would add one.", "It is hard.")
    ]
    assert task.generate_performance_report(tries).no_answer_rate == 0.5


def test_replies_with_the_same_behavior_on_the_tests_are_equal(task):
    calls = instance(hidden=[[[1], {}, 2], [[2], {}, 3]])
    other = "def add(n):\n    # otherwise\n    return sum((n, 1.0))\n"
    assert task.domain.answer_class(calls, RIGHT) == task.domain.answer_class(calls, other)
    assert task.domain.answer_class(calls, RIGHT) != task.domain.answer_class(calls, WRONG)
    assert task.domain.answer_class(calls, "No.") is None
    crashing = "def add(n):\n    raise ValueError('no')\n"
    others = (None, task.domain.answer_class(calls, WRONG))
    assert task.domain.answer_class(calls, crashing) not in others


def test_without_inputs_replies_with_the_same_code_are_of_one_class(task):
    asserts = instance(hidden=[{"kind": "program", "code": "assert add(1) == 2"}])
    same = "def add(x):\n    '''Adds.'''\n    return x + 1  # one\n"
    assert task.domain.answer_class(asserts, RIGHT) == task.domain.answer_class(asserts, same)
    assert task.domain.answer_class(asserts, RIGHT) != task.domain.answer_class(
        asserts, "def add(n): return n"
    )


def test_gold_solutions_and_the_students_own_right_answers_become_records(task):
    def say(question, sampling):
        return "def add(x): return x + 1" if sampling.seed % 2 else "def add(x): return x"

    row = {"instruction": "Plus one, as add.", "entry_point": "add", "tests": [[[5], {}, 6]]}
    row["solution"] = "def add(x):\n    return 1 + x\n"
    instance = to_instance(SourceRow("1", "1", row), task="code")
    task = task.on("train")
    gold = task.domain.gold_record(instance)
    assert gold.output == row["solution"]
    assert gold.instruction == "Plus one, as add.\nReply with code."
    engine = RejectionSamplingEngine(task, samples=12)
    (own,) = engine.generate((Assignment(1),), Student(say), np.random.default_rng(0))
    assert own.output == "def add(x): return x + 1"
