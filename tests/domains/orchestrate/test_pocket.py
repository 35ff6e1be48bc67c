import numpy as np
import pytest

from dataenvgym.agents import PocketEngine
from dataenvgym.domains.orchestrate.pocket import POCKET_ORCHESTRATE, SKILLS, PocketOrchestrateTask
from dataenvgym.domains.orchestrate.policies import FixedOrchestrator
from dataenvgym.records import SupervisedDatum
from dataenvgym.records.plans import Assignment
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.source import SPLITS
from tests.domains.orchestrate.orchestrations import call

SMALL = {"n_train": 60, "n_validation": 120, "n_test": 60}


@pytest.fixture(scope="module")
def task():
    return PocketOrchestrateTask(**SMALL)


@pytest.fixture(scope="module")
def records(task):
    plan = [Assignment(4, skill=skill) for skill in SKILLS]
    return list(PocketEngine(task).generate(plan, None, np.random.default_rng(0)))


def knowing(task):
    """A student that calls the gold tiers."""
    gold = {i.instruction: i.data["gold"] for split in SPLITS for i in task.on(split).instances}

    def say(conversation):
        question = conversation[-1].content.splitlines()[0].removeprefix("Problem: ")
        return call(gold[question][-1 if "Documents:" in conversation[-1].content else 0])

    return ScriptedPredictor(say)


def test_the_right_tiers_are_as_accurate_as_the_dearest_for_half_of_its_cost(task):
    report = {
        name: task.generate_performance_report(task.evaluate(student))
        for name, student in {
            "gold": knowing(task),
            "dear": FixedOrchestrator(["search-3", "answer-1"]),
            "cheap": FixedOrchestrator(["search-3", "answer-4"]),
            "no search": FixedOrchestrator(["answer-1"]),
        }.items()
    }
    assert report["gold"].accuracy >= report["dear"].accuracy - 0.02
    assert report["gold"].scores["cents"] <= report["dear"].scores["cents"] / 2
    assert report["cheap"].accuracy < 0.8
    assert report["no search"].accuracy < 0.7


def test_questions_are_read_again_and_splits_share_no_operands(task):
    operands = {}
    for split in SPLITS:
        for instance in task.on(split).instances:
            request, _ = POCKET_ORCHESTRATE.find(instance.instruction)
            assert (request.skill.name, request.answer) == (instance.skill, instance.answer)
            assert operands.setdefault(request.operands, split) == split


def test_records_of_the_family_are_right_and_have_the_prompts_of_the_student(task, records):
    assert len(records) == 24
    assert all(task.domain.judge_record(record) for record in records)
    searched = [r for r in records if "Documents:" in r.messages[-2].content]
    first = [r for r in records if "search" in str(r.messages[-1].tool_calls)]
    assert searched
    assert first
    assert {len(record.messages) for record in records} == {2}
    gold = filter(None, map(task.domain.gold_record, task.on("train").instances))
    assert sum(map(task.domain.judge_record, gold)) > 50  # none is judged wrong
    plain = SupervisedDatum(instruction="Request: add 10 and 11", output=call("answer-4"))
    framed = task.domain.frame(plain)
    assert [tool.name for tool in framed.tools] == ["search", "answer"]
    assert framed.messages[0].content.startswith("Problem: Request: add 10 and 11")
    assert task.domain.judge_record(framed) is True


def test_a_wrong_call_is_judged_wrong_and_other_records_are_unknown(task, records):
    hard = next(r for r in records if "answer-1" in str(r.messages[-1].tool_calls))
    said = hard.messages[-1]
    cheap = said.tool_calls[0].model_copy(update={"arguments": {"model": "answer-4"}})
    wrong = said.model_copy(update={"tool_calls": (cheap,)})
    record = hard.model_copy(update={"messages": (*hard.messages[:-1], wrong)})
    assert task.domain.judge_record(record) is False
    assert task.domain.judge_record(SupervisedDatum(instruction="?", output="!")) is None


def test_a_fixed_orchestrator_whose_tier_is_not_offered_fails_and_is_not_wrong(task):
    (done,) = task.attempt(FixedOrchestrator(["answer-3"]), task.instances[:1])
    assert "none of answer-3 can be called" in done.error
