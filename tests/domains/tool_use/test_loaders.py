"""Files of problems: fields of a row, and errors of invalid rows."""

import json

import pytest

from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import DataEnvGymError, InvalidInstanceError

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


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"glod": []}, r"there is no field 'glod'\. Did you mean 'gold'"),
        ({"gold": [{"name": "swich"}]}, r"field gold\.0\.name: .* no tool 'swich'"),
        ({"gold": [{"name": "listen"}]}, r"field gold\.0\.name: .* no tool 'listen'"),
        ({"gold": [SWITCH, {"name": "switch"}]}, r"field gold\.1: .* switch fails: .* missing"),
        ({"gold": [{"nmae": "switch"}]}, r"field gold\.0\.n"),
        ({"gold": "switch"}, "field gold"),
        ({"user_gold": [SWITCH]}, r"field user_gold\.0\.name: .* no tool 'switch'"),
        ({"basis": ["said"]}, "basis names 'said', and field 'said' is empty"),
        ({"basis": ["assertions"]}, "field 'assertions' is empty"),
        ({"basis": ["calls"], "gold": []}, "field 'gold' is empty"),
        ({"basis": []}, "field basis"),
        ({"basis": ["states"]}, r"field basis\.0"),
        ({"assertions": [{"check": "is_onn"}]}, r"field assertions\.0\.check: .* 'is_onn'"),
        (
            {"assertions": [{"check": "is_on"}]},
            r"field assertions\.0\.arguments: missing .* 'lamp'",
        ),
        ({"said": ["it is on", "!?"]}, r"said\.1 is '!\?', expected a word or a number"),
        ({"said": ["on"], "not_said": ["off", "On!"]}, r"not_said\.1 is 'On!', expected a word"),
        ({"may_differ": ["lamp"]}, r"field may_differ\.0: .* no field 'lamp'"),
        ({"may_differ": ["lamps", "log.1"]}, r"field may_differ\.1: log is not a table"),
        ({"state": {"lamp": {}}}, "field state: .* no 'lamp'"),
        ({"state": {"lamps": {"x": {"room": 7}}}}, r"field state\.lamps.*room"),
        ({"state": {"lamps": {"lamp_9": None}}}, "field state: .* no 'lamp_9'"),
        ({"user": {"kind": "script", "states": {}}}, r"field user\.script\.states"),
        ({"user": {"kind": "person"}}, "field user"),
        ({"user": {"kind": "model"}}, r"field user\.model\.instructions"),
        ({"world": ""}, "field world"),
        ({"instruction": None}, "field instruction"),
        ({"instruction": ""}, "field instruction: it is empty, and there is no user"),
    ],
)
def test_a_bad_row_is_refused_naming_file_problem_and_field(load, change, complaint):
    with pytest.raises(DataEnvGymError, match=complaint) as refused:
        load(GOOD | {"id": "fine"}, GOOD | change)
    assert "problems.jsonl" in str(refused.value)
    assert "on-1" in str(refused.value)
    assert len(str(refused.value)) < 500


def test_a_row_without_an_instruction_is_refused(load):
    with pytest.raises(InvalidInstanceError, match=r"problems\.jsonl.*field instruction"):
        load({"id": "on-1", "gold": [SWITCH]})


def test_a_row_without_an_id_has_one_of_its_file(load):
    (instance,) = load({"instruction": "Switch lamp_1 on.", "gold": [SWITCH]})
    assert "problems" in instance.id
