import numpy as np
import pytest

from dataenvgym.agents import Assignment, PocketEngine
from dataenvgym.domains.math.pocket import SKILLS, PocketMathTask, recognize
from dataenvgym.environments import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import CompletedTaskInstance
from tests.fakes import tried


def generate(*plan: Assignment, seed: int = 0):
    return PocketEngine(PocketMathTask()).generate(plan, None, np.random.default_rng(seed))


def example(task: PocketMathTask, index: int) -> CompletedTaskInstance:
    return tried(task.instances[index])


def test_it_writes_as_many_good_records_of_a_skill_as_it_is_asked_for():
    records = generate(*(Assignment(30, skill=skill) for skill in SKILLS))
    assert len(records) == 30 * len(SKILLS)
    assert [r.provenance.skill for r in records[::30]] == list(SKILLS)
    # they differ, and never touch an evaluation instance
    assert RecordChecks(PocketMathTask()).check(records).reasons == {}


def test_a_record_modelled_on_an_example_asks_for_the_same_in_the_same_words():
    task = PocketMathTask()
    for index in range(40):
        model = example(task, index)
        (record,) = generate(Assignment(1, examples=(model,)))
        assert recognize(record.instruction) == recognize(model.instance.instruction)
        assert record.instruction != model.instance.instruction


def test_a_subskill_is_a_phrasing_and_its_records_are_in_that_phrasing():
    engine, rng = PocketEngine(PocketMathTask()), np.random.default_rng(0)
    names = engine.propose_subskills("reversed", (), 2, (), rng)
    assert names == ["Write _ backwards.", "Read _ backwards."]
    assert engine.propose_subskills("reversed", names, 2, (), rng) == ["Give _ backwards."]
    records = generate(Assignment(9, skill="reversed", subskill=names[1]))
    assert {engine.subskill_of("reversed", r.instruction) for r in records} == {names[1]}
    assert {(r.provenance.skill, r.provenance.subskill) for r in records} == {
        ("reversed", names[1])
    }


def test_a_skill_of_another_name_is_taught_as_its_examples_are():
    task = PocketMathTask()
    engine = PocketEngine(task)
    models = [example(task, i) for i in (0, 20, 40)]
    names = engine.propose_subskills("ordering", (), 9, models, np.random.default_rng(0))
    assert set(names) == {engine.subskill_of("ordering", m.instance.instruction) for m in models}
    for record in generate(Assignment(9, skill="ordering", examples=models)):
        assert record.provenance.skill == "ordering"
        assert engine.subskill_of("ordering", record.instruction) in names


def test_an_unknown_skill_is_named_with_a_suggestion():
    with pytest.raises(ConfigurationError, match="Did you mean 'descending'"):
        generate(Assignment(1, skill="decending"))


def test_more_records_than_there_are_problems_gives_those_there_are():
    few = generate(Assignment(2000, skill="sum", subskill="Find _ plus _."))
    assert 500 < len(few) < 2000
    assert len({r.instruction for r in few}) == len(few)
