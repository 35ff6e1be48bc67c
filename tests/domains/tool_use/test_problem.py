"""Files of problems: fields of a row, and errors of invalid rows."""

import json

import pytest

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import DataEnvGymError, InvalidInstanceError
from dataenvgym.records import TaskInstance

SWITCH = {"name": "switch", "arguments": {"lamp": "lamp_1", "on": True}}
GOOD = {"id": "on-1", "instruction": "Switch lamp_1 on.", "gold": [SWITCH]}


@pytest.fixture
def load(tmp_path, lamps):
    def load(*rows):
        path = tmp_path / "problems.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ToolUseTask(lamps, {"validation": path}).instances

    return load


def test_a_row_has_the_fields_of_an_instance_and_of_its_problem(load):
    (instance,) = load(GOOD | {"skill": "switch", "category": "lamps", "answer": "Done."})
    assert (instance.id, instance.task, instance.skill) == ("on-1", "lamps", "switch")
    assert (instance.category, instance.answer) == ("lamps", "Done.")
    assert instance.data == {"world": "lamps", "gold": [SWITCH]}
    (nameless,) = load({"instruction": "Switch lamp_1 on.", "gold": [SWITCH]})
    assert "problems" in nameless.id


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"gold": [{"name": "swich"}]}, "gold: .*'swich'"),
        ({"gold": [SWITCH, {"name": "switch"}]}, r"field gold\.1: .* switch fails: .* missing"),
        ({"gold": [{"nmae": "switch"}]}, r"gold\.0\.n"),
        ({"tools": ["look"]}, "gold calls 'switch'"),
        ({"tools": ["switch", "fly"]}, "tools: .*'fly'"),
        ({"earlier": [{"role": "user", "content": "?"}]}, "earlier.*ends with a turn of others"),
        ({"user_gold": [SWITCH]}, "user_gold: .*'switch'"),
        ({"basis": ["said"]}, "basis names 'said'"),
        ({"basis": ["calls"], "gold": []}, "basis names 'calls'"),
        ({"basis": []}, "basis"),
        ({"assertions": [{"check": "is_onn"}]}, "assertions: .*'is_onn'"),
        ({"assertions": [{"check": "is_on", "arguments": {"nope": 1}}]}, "assertions, is_on"),
        ({"said": ["it is on", "!?"]}, "said.*a word"),
        ({"said": ["on"], "not_said": ["off", "On!"]}, "not_said has 'On!'"),
        ({"may_differ": ["lamp"]}, "may_differ: .*'lamp'"),
        ({"may_differ": ["lamps", "log.1"]}, "may_differ: .*'log'"),
        ({"state": {"lamp": {}}}, "field state: .* no 'lamp'"),
        ({"state": {"lamps": {"x": {"room": 7}}}}, r"state\.lamps.*room"),
        ({"state": {"lamps": {"lamp_9": None}}}, "field state: .* no 'lamp_9'"),
        ({"user": {"kind": "script", "states": {}}}, r"user\.script\.states"),
        ({"instruction": ""}, "field instruction: it is empty, and there is no user"),
    ],
)
def test_a_bad_row_is_refused_naming_file_problem_and_field(load, change, complaint):
    with pytest.raises(DataEnvGymError, match=complaint) as refused:
        load(GOOD | {"id": "fine"}, GOOD | change)
    assert "problems.jsonl" in str(refused.value)
    assert "on-1" in str(refused.value)
    assert len(str(refused.value)) < 500


def instance(**data):
    return TaskInstance(id="i", task="lamps", instruction="", data={"world": "lamps", **data})


@pytest.fixture
def prepare(lamps):
    return ToolUseDomain(lamps).prepared


def test_a_problem_of_another_world_is_refused_and_imports_nothing(prepare):
    problem = TaskInstance(id="i", task="t", instruction="", data={"world": "os.path"})
    with pytest.raises(InvalidInstanceError, match="task's"):
        prepare(problem)


def test_the_gold_state_leaves_the_first_state_as_it_is(prepare, lamps):
    assert not prepare(instance()).gold_state.lamps["lamp_1"].is_on  # another one with its id
    prepared = prepare(problem := instance(gold=[SWITCH], state={"lamps": {"lamp_0": None}}))
    assert prepare(problem) is prepared
    assert prepared.gold_state.lamps["lamp_1"].is_on
    assert not prepared.state.lamps["lamp_1"].is_on
    assert list(prepared.state.lamps) == ["lamp_1", "lamp_2"]
    assert list(lamps.state.lamps) == ["lamp_0", "lamp_1", "lamp_2"]
