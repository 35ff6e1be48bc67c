"""API-Bank's own APIs from a checkout, level 3 and training files, on files of our own."""

import json

import pytest

from dataenvgym.domains.tool_use.calls import api_bank_process
from dataenvgym.domains.tool_use.calls.api_bank import REPLY
from dataenvgym.domains.tool_use.calls.api_bank_apis import ApiBankApis, CheckedCall
from dataenvgym.domains.tool_use.calls.api_bank_text import call_in, messages_in, tools_in
from dataenvgym.domains.tool_use.calls.problem import CallsProblem, as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.records import ToolCall
from tests.calls_files import api, write

# A small checkout: its manager calls classes as API-Bank's does, its APIs are of our own.
MANAGER = """
import importlib, json, os


class ToolManager:
    def __init__(self, folder):
        self.apis, self.inited_tools = [], {}
        with open("init_database/Alarm.json") as stream:
            database = json.load(stream)
        for file in sorted(os.listdir(folder)):
            if not file.endswith(".py"):
                continue
            module = importlib.import_module(f"{folder[2:]}.{file[:-3]}")
            for one in vars(module).values():
                if isinstance(one, type) and hasattr(one, "input_parameters"):
                    about = {"name": one.__name__, "class": one, "description": one.description,
                             "input_parameters": one.input_parameters}
                    if hasattr(one, "database_name"):
                        about["init_database"] = database
                    self.apis.append(about)

    def get_api_by_name(self, name):
        return next(one for one in self.apis if one["name"] == name)

    def init_tool(self, name):
        if name not in self.inited_tools:
            about = self.get_api_by_name(name)
            given = [about["init_database"]] if "init_database" in about else []
            self.inited_tools[name] = about["class"](*given)
        return self.inited_tools[name]

    def api_call(self, name, **arguments):
        return self.init_tool(name).call(**arguments)
"""
APIS = """
import time
from rank_bm25 import BM25Okapi


class Api:
    def check_api_call_correctness(self, response, gold):
        return all(response[part] == gold[part] for part in ("output", "exception"))


class AddAlarm(Api):
    description = "Sets an alarm."
    input_parameters = {
        "time": {"type": "str", "description": "Format: %H:%M"},
        "loud": {"type": "bool", "description": "Whether it is loud."},
        "note": {"type": "str", "description": "A text."},
    }
    database_name = "Alarm"

    def __init__(self, database):
        self.database = database

    def call(self, time, loud="False", note=""):
        if time == "sleep":
            globals()["time"].sleep(60)
        if time == "crash":
            __import__("os").abort()
        self.database[time] = note
        asked = {"time": time, "loud": loud, "note": note}
        return {"input": asked, "output": len(self.database), "exception": None}

    def check_api_call_correctness(self, response, gold):
        same = [response["input"][name] == gold["input"][name] for name in ("time", "loud")]
        return all(same) and response["output"] == gold["output"]


class ToolSearcher(Api):
    description = "Finds tools."
    input_parameters = {"keywords": {"type": "str", "description": "Words."}}

    def call(self, keywords):
        BM25Okapi([])
"""
LEVEL_3 = "from apis.alarm import AddAlarm, ToolSearcher\n"


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "api-bank"
    for name, text in (
        ("tool_manager.py", MANAGER),
        ("apis/alarm.py", APIS),
        ("lv3_apis/alarm.py", LEVEL_3),
        ("init_database/Alarm.json", json.dumps({"06:00": "up"})),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def alarm(**arguments):
    return ToolCall(name="AddAlarm", arguments={"time": "10:00", "loud": "True"} | arguments)


RECORDED = {"time": "10:00", "loud": "True", "note": "Wake up"}
GOLD = CheckedCall(
    name="AddAlarm", result={"input": RECORDED, "output": 2, "exception": None, "api_name": "x"}
)


def accepts(apis, call, gold):
    (verdict,) = apis.verdict([call], gold).items()
    assert verdict[0] == "accepted_by_api"
    return verdict[1]


def test_an_api_judges_calls_of_itself_in_its_own_way(checkout):
    apis = ApiBankApis(checkout)
    assert accepts(apis, alarm(note="something else"), GOLD)
    assert accepts(apis, alarm(loud=True), GOLD)  # as API-Bank's text would have it
    assert not accepts(apis, alarm(time="11:00"), GOLD)
    assert not accepts(apis, alarm(time=10), GOLD)
    assert not accepts(apis, alarm(unknown=1), GOLD)
    assert not accepts(apis, ToolCall(name="Other", arguments={}), GOLD)


def test_each_call_finds_the_database_as_it_is_in_the_checkout(checkout):
    apis = ApiBankApis(checkout)
    assert [accepts(apis, alarm(note=str(i)), GOLD) for i in range(5)] == [True] * 5
    assert json.loads((checkout / "init_database" / "Alarm.json").read_text()) == {"06:00": "up"}


@pytest.mark.parametrize("time", ["sleep", "crash"])
def test_what_a_call_does_to_the_process_is_the_students_unless_the_gold_call_does_it_too(
    checkout, hasty, time
):
    hasty(api_bank_process)
    apis = ApiBankApis(checkout)
    assert not accepts(apis, alarm(time=time), GOLD)
    assert accepts(apis, alarm(), GOLD)
    gold = GOLD.model_copy(update={"result": {**GOLD.result, "input": {"time": time}}})
    with pytest.raises(EvaluationError, match="did not answer"):
        apis.verdict([alarm(time=time)], gold)


def test_a_package_that_an_api_needs_is_named_once_and_its_searches_are_judged_by_words(
    checkout, caplog
):
    tools = ApiBankApis(checkout).tools("apis")
    apis = ApiBankApis(checkout, catalog=lambda: tools)
    found = {"output": [{"name": "GetUserToken"}, {"name": "AddAlarm"}], "exception": None}
    gold = CheckedCall(name="ToolSearcher", result=found)
    for keywords, right in (("set an alarm", True), ("find tools", False), ("", False)):
        call = ToolCall(name="ToolSearcher", arguments={"keywords": keywords})
        for judge in (apis, ApiBankApis(None, catalog=lambda: tools)):
            assert judge.verdict([call], gold) == {"found_tool": right}
    assert caplog.text.count("needs the package 'rank_bm25'") == 1
    assert "do not compare accepted_by_api with published figures" in caplog.text


def test_what_is_no_checkout_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(ConfigurationError, match="_apis"):
        APIBankTask(tmp_path, checkout=tmp_path)


# --- in the task ---


def judged(task, instance, **arguments):
    said = as_calls_text([alarm(**arguments)])
    environment = task.domain.make_environment()
    environment.reset(options={"instance": instance})
    *_, info = environment.step(said)
    return info["was_correct"], info["scores"].get("accepted_by_api")


def test_a_call_is_right_if_its_api_accepts_it_or_if_it_is_the_gold_call(checkout, tmp_path):
    right = api("AddAlarm", RECORDED, 2)
    wrong = api("AddAlarm", RECORDED, "another result")
    user = {"role": "User", "text": "Wake me at ten, loudly."}
    folder = tmp_path / "dialogues"
    folder.mkdir()
    write(folder / "AddAlarm-level-1-1.jsonl", [user, right])
    write(folder / "AddAlarm-level-1-2.jsonl", [user, wrong])
    plain = APIBankTask(folder).whole()
    task = APIBankTask(folder, checkout=checkout).whole()
    first, second = task.instances
    assert judged(task, first, note="x") == (1.0, 1.0)
    assert judged(task, second, note="x") == (0.0, 0.0)
    assert judged(task, second, note="Wake up") == (1.0, 0.0)
    assert judged(plain, plain.instances[0], note="x") == (0.0, None)
    (tool,) = first.data_as(CallsProblem).tools
    assert tool.parameters["properties"]["time"] == {
        "type": "string",
        "description": "Format: %H:%M",
    }


KEYWORDS = {"keywords": "alarm"}
FOUND = {"input": KEYWORDS, "output": {"name": "AddAlarm"}, "exception": None}
PLAN = {
    "requirement": "Wake me when Ann gets up.",
    "apis": [
        {"api_name": "ToolSearcher", "input": KEYWORDS, "output": FOUND},
        {"api_name": "AddAlarm", "input": {"time": "07:00"}, "output": 2},
    ],
    "response": "I set it.",
}


def test_the_requirements_of_level_3_are_dialogues(tmp_path, checkout):
    file = tmp_path / "level-3.json"
    file.write_text(json.dumps([PLAN, PLAN | {"requirement": "Another one.", "response": ""}]))
    instances = APIBankTask(file).whole().instances
    skills = ["ToolSearcher", "AddAlarm", REPLY, "ToolSearcher", "AddAlarm"]
    assert [i.skill for i in instances] == skills
    assert (instances[2].id, instances[2].category) == ("level-3-1-4", "level 3")
    problem = instances[1].data_as(CallsProblem)
    assert [m.role for m in problem.messages] == ["user", "assistant", "tool"]
    judged = APIBankTask(file, checkout=checkout, turns="calls").whole().instances
    assert {i.data_as(CallsProblem).checked.apis for i in judged[1::2]} == {"lv3_apis"}


ROW = {
    "instruction": "Make a call.\nAPI descriptions:\n"
    '{"apiCode": "SetTimer", "description": "Sets a timer.", "parameters": {"minutes": '
    '{"type": "int", "description": "How long."}, "tags": {"type": "list(str)"}}}\n'
    '{"name": "GetToday", "description": "The date.", "input_parameters": {}}',
    "input": "User: A timer.\nAI: How long?\nUser: Five minutes after\nthe news.\nAI: Hm.\n"
    "API-Request: [GetToday()]->2023-01-01\nGenerate API Request:\n",
    "output": "API-Request: [SetTimer(minutes='5', tags=['a', 'b'])]",
}


def test_training_rows_are_turns_with_tools_of_their_own(tmp_path, caplog):
    file = tmp_path / "lv1-api-train.json"
    reply = ROW | {"output": "AI: It is set."}
    broken = ROW | {"output": "API-Request: [SetTimer(minutes=five)]"}
    unknown = ROW | {"output": "API-Request: [Other()]"}
    file.write_text(json.dumps([ROW, reply, broken, unknown, {"input": "User: x"}]))
    first, second = APIBankTask(file).whole().instances
    assert (first.id, first.skill, first.category) == ("lv1-api-train-1", "SetTimer", "level 1")
    problem = first.data_as(CallsProblem)
    assert [m.role for m in problem.messages] == ["user", "assistant", "user", "assistant", "tool"]
    assert problem.messages[2].content == "Five minutes after\nthe news."
    assert problem.messages[3].content == "Hm."
    assert problem.gold[0].arguments == {"minutes": "5", "tags": ["a", "b"]}
    assert [tool.name for tool in problem.tools] == ["SetTimer", "GetToday"]
    assert problem.tools[0].parameters["properties"] == {
        "minutes": {"type": "integer", "description": "How long."},
        "tags": {"type": "array", "description": ""},
    }
    assert (second.skill, second.answer) == (REPLY, "It is set.")
    assert "3 of 5 rows" in caplog.text
    for turns, n in (("calls", 1), ("replies", 1)):
        assert len(APIBankTask(file, turns=turns).whole().instances) == n


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (call_in, "no call"),
        (call_in, "[F(1)]"),
        (call_in, "[F(a=g())]"),
        (call_in, "[F(a=" + "(" * 10**5 + ")]"),
        (messages_in, "Hello."),
        (tools_in, "API descriptions:\n[1]"),
        (tools_in, 'API descriptions:\n{"description": "x"}'),
    ],
)
def test_what_is_not_in_api_banks_notation_is_refused(read, text):
    with pytest.raises((AttributeError, ValueError)):
        read(text)
