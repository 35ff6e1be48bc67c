"""Valid return values of engines."""

import pytest

from dataenvgym.agents import Agent, OpenEndedPolicy, PreferenceEngine
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillTree
from dataenvgym.errors import InvalidActionError, InvalidRecordError
from dataenvgym.predictors import ScriptedPredictor

TASK = PocketMathTask(n_train=20, n_validation=20, n_test=20)
STUDENT = ScriptedPredictor(lambda conversation: "#### 1")
RECORD = {"instruction": "Add 1 2 3", "output": "#### 6", "provenance": {"skill": "sum"}}


class Engine:
    skills = ("sum",)

    def __init__(self, records):
        self.records = records

    def generate(self, plan, predictor, rng):
        return self.records


def written(engine):
    return Agent(OpenEndedPolicy(), engine, name="mine")(TASK.evaluate(STUDENT), STUDENT)


def test_an_engine_may_return_mappings():
    (record,) = written(Engine([RECORD]))
    assert (record.kind, record.output) == ("supervised", "#### 6")
    assert (record.provenance.skill, record.provenance.agent) == ("sum", "mine")
    (pair,) = written(PreferenceEngine(Engine([RECORD]), TASK))
    assert (pair.chosen, pair.rejected) == ("#### 6", "#### 1")


def test_in_the_skill_tree_too():
    environment = SkillTree(TASK, STUDENT, Engine([RECORD]))
    environment.reset(seed=0)
    explore = {"kind": "explore", "skill": "sum", "subskills": 1, "records_each": 1}
    *_, info = environment.step((explore,))
    environment.close()
    assert info["n_records"] == 1.0


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        (None, "Engine.generate returned NoneType, expected a list of training records"),
        (RECORD, "Engine.generate returned dict, expected a list"),
        ([RECORD, {"instruction": "x"}], "record 1, field output"),
        ([3], "record 0"),
    ],
)
def test_values_that_are_not_records_are_named(records, expected):
    with pytest.raises((InvalidRecordError, InvalidActionError), match=expected):
        written(Engine(records))
