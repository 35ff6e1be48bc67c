"""Problems with their worlds, prepared once and put many times."""

import pytest

from dataenvgym.domains.tool_use.problem import Preparation
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import TaskInstance

SWITCH = {"name": "switch", "arguments": {"lamp": "lamp_1", "on": True}}


def instance(**data):
    return TaskInstance(id="i", task="lamps", instruction="", data={"world": "lamps", **data})


@pytest.fixture
def prepare(lamps):
    return Preparation(lamps)


def test_a_problem_is_prepared_once(prepare):
    problem = instance(gold=[SWITCH])
    assert prepare(problem) is prepare(problem)


def test_a_problem_of_another_world_is_refused_and_imports_nothing(prepare):
    problem = TaskInstance(id="i", task="t", instruction="", data={"world": "os.path"})
    with pytest.raises(InvalidInstanceError, match=r"'os.path', and the task's world is 'lamps'"):
        prepare(problem)


def test_another_problem_with_the_same_id_is_prepared_again(prepare):
    assert not prepare(instance()).gold_state.lamps["lamp_1"].is_on
    assert prepare(instance(gold=[SWITCH])).gold_state.lamps["lamp_1"].is_on


def test_the_gold_state_leaves_the_first_state_as_it_is(prepare, lamps):
    prepared = prepare(instance(gold=[SWITCH], state={"lamps": {"lamp_0": None}}))
    assert prepared.gold_state.lamps["lamp_1"].is_on
    assert not prepared.state.lamps["lamp_1"].is_on
    assert list(prepared.state.lamps) == ["lamp_1", "lamp_2"]
    assert list(lamps.state.lamps) == ["lamp_0", "lamp_1", "lamp_2"]


def test_a_problem_that_its_world_cannot_set_up_is_refused(prepare):
    with pytest.raises(InvalidInstanceError, match=r"'i': field gold\.0\.name"):
        prepare(instance(gold=[{"name": "fly"}]))
    failing = {"name": "switch", "arguments": {"lamp": "lamp_7", "on": True}}
    with pytest.raises(InvalidInstanceError, match=r"field gold\.0: .* no lamp lamp_7"):
        _ = prepare(instance(gold=[failing])).gold_state
