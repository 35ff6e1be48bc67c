from itertools import combinations

import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.code.pocket import (
    ENGLISH_CODE,
    POCKET_CODE,
    PocketCodeProblem,
    PocketCodeTask,
)
from dataenvgym.domains.code.pocket_skills import ENGLISH_SKILLS, SKILLS
from dataenvgym.domains.code.problem import CodeProblem
from dataenvgym.environments import RecordChecks
from dataenvgym.records import SupervisedDatum
from dataenvgym.students.predictors.scripted import ScriptedPredictor


@pytest.fixture
def task(bubblewrap):
    made = PocketCodeTask(n_train=60, n_validation=60, n_test=60)
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("pair", list(combinations(SKILLS, 2)), ids="-".join)
def test_the_hidden_calls_of_a_skill_tell_it_from_every_other_one(pair):
    calls = {}
    for instance in PocketCodeTask(n_validation=200).instances:
        calls.setdefault(instance.skill, instance)
    for asked, given in (pair, pair[::-1]):
        problem = calls[asked].data_as(CodeProblem)
        digit = next((int(c) for c in calls[asked].instruction if c.isdigit()), 5)
        code = PocketCodeProblem(SKILLS[given], (problem.entry_point, "xs"), digit).output
        names: dict = {}
        exec(code, names)
        assert any(_differs(names[problem.entry_point], test) for test in problem.hidden)


def _differs(function, test):
    try:
        return function(*test.args) != test.expected
    except Exception:
        return True


@pytest.mark.slow
def test_the_gold_functions_pass_and_empty_or_other_ones_fail(task):
    gold = {i.instruction: i.answer for i in task.instances}
    right = ScriptedPredictor(lambda c: gold[c[-1].content])
    assert task.generate_performance_report(task.evaluate(right)).score == 1.0
    empty = ScriptedPredictor(lambda c: gold[c[-1].content].split("\n")[0] + "\n    pass")
    assert task.generate_performance_report(task.evaluate(empty)).score == 0.0
    other = ScriptedPredictor(lambda c: "def f(x):\n    return x")
    assert task.generate_performance_report(task.evaluate(other)).score == 0.0


@pytest.mark.parametrize(
    "options",
    [{}, {"wording": "english", "n_validation": 100, "n_test": 100}],
    ids=["pocket", "english"],
)
def test_the_pocket_engine_writes_its_records_and_none_touches_an_evaluation_instance(options):
    task = PocketCodeTask(**options)
    engine = PocketEngine(task)
    assert tuple(engine.skills) == tuple(SKILLS)
    plan = [Assignment(30, skill=skill) for skill in SKILLS]
    records = engine.generate(plan, None, np.random.default_rng(0))
    assert len({r.instruction for r in records}) == len(records) == 30 * len(SKILLS)
    assert RecordChecks(task).check(records).reasons == {}


def test_a_record_of_the_family_is_judged_by_calls_of_its_own(task):
    question = ENGLISH_CODE.draw("maximum", "train", np.random.default_rng(0)).question
    pocket = POCKET_CODE.draw("maximum", "train", np.random.default_rng(0))
    for output, holds in ((pocket.output, True), ("def f(x):\n    pass", False)):
        record = SupervisedDatum(instruction=pocket.question, output=output)
        assert task.domain.judge_record(record) is holds
    assert task.domain.judge_record(SupervisedDatum(instruction=question, output="x")) is None


def test_plain_english_asks_for_the_same_functions_under_names_of_their_own():
    assert list(ENGLISH_SKILLS) == list(SKILLS)
    for name, skill in ENGLISH_SKILLS.items():
        assert (skill.expression, skill.has_digit) == (
            SKILLS[name].expression,
            "{k}" in skill.wants[0],
        )
    functions = [f for skill in ENGLISH_SKILLS.values() for f in skill.functions]
    assert len(functions) == len(set(functions))
    task = PocketCodeTask(wording="english", n_train=400, n_validation=100, n_test=100)
    names = {}
    for split in ("train", "validation", "test"):
        instances = task.on(split).instances
        names[split] = {ENGLISH_CODE.signature_in(i.instruction) for i in instances}
        read = [ENGLISH_CODE.read(i.instruction) for i in instances]
        assert [(e.skill, e.output) for e in read] == [(i.skill, i.answer) for i in instances]
    assert None not in set.union(*names.values())
    assert len(set.union(*names.values())) == sum(map(len, names.values()))
    assert task.domain.overlap_key("Define largest(data).") == task.domain.overlap_key(
        "largest(data)"
    )
    assert PocketCodeTask().domain.overlap_key("largest(data)?") == "largest data"
