import json
from collections import Counter

import pytest

from dataenvgym.domains.tool_use.calls.api_bank import REPLY
from dataenvgym.domains.tool_use.calls.problem import CallsProblem, as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask
from dataenvgym.errors import ConfigurationError, InvalidInstanceError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.domain import solves
from tests.calls_files import DIALOGUE, api, write


def whole(folder, **options):
    return APIBankTask(folder, **options).whole()


# --- the data set itself ---


@pytest.fixture(scope="module")
def published(api_bank):
    return whole(api_bank)


def test_the_data_set_loads_whole(published, api_bank):
    assert len(list(api_bank.iterdir())) == 214
    kinds = Counter(instance.skill == REPLY for instance in published.instances)
    assert kinds == {False: 389, True: 740}
    assert Counter(i.category for i in published.instances) == {"level 1": 511, "level 2": 618}


def test_gold_answers_score_1_and_empty_ones_0(published):
    environment = published.domain.make_environment()
    for instance in published.instances:
        for reply, reward in ((instance.answer, 1.0), ("", 0.0)):
            environment.reset(options={"instance": instance})
            assert environment.step(reply)[1] == reward, instance.id


def test_gold_calls_with_one_value_changed_fail_whichever_it_is(published):
    tried = 0
    for instance in published.instances:
        for call in (gold.call for gold in instance.data_as(CallsProblem).gold):
            names = call.arguments or {"extra": 0}
            for name in names:
                wrong = call.arguments | {name: "qqq"}
                said = as_calls_text([ToolCall(name=call.name, arguments=wrong)])
                assert not solves(published.domain, instance, said), (instance.id, wrong)
                tried += 1
    assert tried == 887


def test_a_gold_call_of_the_searcher_is_right_and_is_a_record(tmp_path):
    search = api("ToolSearcher", {"keywords": "set alarm"}, {"name": "AddAlarm"})
    rows = [DIALOGUE[0], search, *DIALOGUE[1:]]
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / "AddAlarm-level-2-1.jsonl", rows)
    for how, lengths in (("given", [2, 6, 8]), ("tool", [2, 8, 8])):
        task = whole(tmp_path / "d", turns="calls", search=how)
        first = task.instances[0]
        assert solves(task.domain, first, first.answer)
        environment = task.domain.make_environment()
        environment.reset(options={"instance": first})
        *_, info = environment.step(first.answer)
        # without API-Bank's searcher this is not its verdict
        assert info["scores"]["found_tool"] == 1.0
        assert "accepted_by_api" not in info["scores"]
        other = ToolCall(name="ToolSearcher", arguments={"keywords": "email"})
        assert not solves(task.domain, first, as_calls_text([other]))
        records = list(map(task.domain.gold_record, task.instances))
        names = [record.messages[-1].tool_calls[0].name for record in records]
        assert names == ["ToolSearcher", "GetUserToken", "AddAlarm"]
        assert [len(record.messages) for record in records] == lengths


def test_each_dialogue_is_in_one_split(api_bank):
    task = APIBankTask(api_bank, turns="calls")
    dialogues = [
        {i.id.rpartition("-")[0] for i in task.on(split).instances}
        for split in ("train", "validation", "test")
    ]
    assert all(dialogues)
    assert not dialogues[0] & dialogues[1]
    assert not dialogues[0] & dialogues[2]
    assert sum(map(len, dialogues)) == 212  # of the 214 one is empty, and one calls nothing


# --- files of our own ---


def test_each_turn_of_the_assistant_is_a_problem_and_an_empty_file_is_mentioned(dialogues, caplog):
    instances = whole(dialogues).instances
    assert "1 of 3 dialogues are empty files" in caplog.text
    assert "GetToday-level-1-2" in caplog.text
    assert [(i.id, i.skill, i.category) for i in instances] == [
        ("AddAlarm-GetUserToken-level-2-1-2", REPLY, "level 2"),
        ("AddAlarm-GetUserToken-level-2-1-5", "GetUserToken", "level 2"),
        ("AddAlarm-GetUserToken-level-2-1-6", "AddAlarm", "level 2"),
        ("AddAlarm-GetUserToken-level-2-1-7", REPLY, "level 2"),
        ("GetToday-level-1-1-2", "GetToday", "level 1"),
        ("GetToday-level-1-1-3", REPLY, "level 1"),
    ]
    alarm = instances[2].data_as(CallsProblem)
    assert [m.role for m in alarm.messages] == ["user", "assistant", "user", "assistant", "tool"]
    assert alarm.messages[3].content == "One moment."
    assert [call.name for call in alarm.messages[3].tool_calls] == ["GetUserToken"]
    assert alarm.messages[4].content == '{"token": "t0"}'
    assert alarm.gold[0].arguments["times"] == 2
    assert instances[2].instruction == (
        "Please set an alarm.\nAnn, password x1, at 10 on 2023-01-01, twice."
    )


def test_tools_derive_from_the_calls_if_they_are_not_described(dialogues):
    tools = whole(dialogues).instances[0].data_as(CallsProblem).tools
    assert [tool.name for tool in tools] == ["AddAlarm", "GetUserToken"]
    assert tools[0].description == "Add alarm."
    assert tools[0].parameters == {
        "type": "object",
        "properties": {
            "token": {"type": "string"},
            "time": {"type": "string", "description": "In the form YYYY-MM-DD HH:MM:SS."},
            "times": {"type": "integer"},
        },
        "required": ["token", "time", "times"],
    }


def test_a_file_with_tools_replaces_them(dialogues, tmp_path):
    described = [
        {"type": "function", "function": {"name": name, "description": f"Does {name}."}}
        for name in ("GetUserToken", "AddAlarm", "GetToday")
    ]
    file = tmp_path / "apis.json"
    file.write_text(json.dumps(described))
    tools = whole(dialogues, apis=file).instances[0].data_as(CallsProblem).tools
    assert [tool.description for tool in tools] == ["Does AddAlarm.", "Does GetUserToken."]
    file.write_text(json.dumps(described[1:]))
    complaint = r"level-2-1.jsonl:5, field 'api_name': calls 'GetUserToken', which is not declared"
    with pytest.raises(InvalidInstanceError, match=complaint):
        _ = whole(dialogues, apis=file).instances
    file.write_text("{}")
    with pytest.raises(ConfigurationError, match="damaged"):
        _ = whole(dialogues, apis=file).instances


def test_replies_are_scored_with_rouge_l(dialogues):
    task = whole(dialogues, turns="replies")
    environment, (*_, last) = task.domain.make_environment(), task.instances
    environment.reset(options={"instance": last})
    *_, reward, _, _, info = environment.step("It is January.")
    assert reward == pytest.approx(2 * 3 / (3 + 7))
    assert (info["was_correct"], info["scores"]) == (1.0, {"rouge_l": reward})
    environment.reset(options={"instance": last})
    call = as_calls_text([ToolCall(name="GetToday")])
    assert environment.step(f"It is January.{call}")[1] == 0.0
    token = whole(dialogues, turns="calls").instances[0]  # words beside a call are scored apart
    environment.reset(options={"instance": token})
    *_, info = environment.step(f"One moment.{token.answer}")
    assert info["scores"] == {"names_matched": 1.0, "arguments_matched": 1.0, "rouge_l": 1.0}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ({"role": "User", "text": "Hi", "mood": "bad"}, "mood.*Extra inputs are not"),
        ({"role": "Robot", "text": "Hi"}, "role is 'Robot'"),
        ({"role": "API", "api_name": "A", "param_dict": {}}, "result: Field required"),
        ({"role": "AI", "text": "Hi"}, "the dialogue begins with 'AI', expected 'User'"),
    ],
)
def test_a_bad_line_is_refused_naming_file_line_and_field(dialogues, line, complaint):
    (dialogues / "A-level-1-1.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(InvalidInstanceError, match=rf"A-level-1-1.jsonl:1, .*{complaint}"):
        _ = whole(dialogues).instances
