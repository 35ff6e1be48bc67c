"""Tasks whose answer is calls of tools, from the command line: eval, run and rescore."""

import pytest

from dataenvgym.environments.iterations import read_completed
from dataenvgym.storage import read_json, read_jsonl

from ..calls_files import write_bfcl, write_dialogues

CALLERS = '''
"""A student that learns to call tools, in the problems of the files beside it."""

import json
from zlib import crc32

from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import ToolCall
from dataenvgym.domains.tool_use.calls.problem import as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask, BFCLTask


class Caller(ScriptedPredictor):
    """Knows a share of the gold answers that grows with the records it was trained on."""

    def __init__(self, wit=20):
        super().__init__(self.reply)
        self.wit = wit
        self.gold = {}
        for task in (BFCLTask("bfcl"), APIBankTask("api-bank")):
            for instance in task.whole().instances:
                conversation = task.domain.prompt(instance)
                assert conversation[0].tools
                self.gold[self.key(conversation)] = instance.answer

    def reply(self, conversation):
        assert conversation[0].tools
        key = self.key(conversation)
        knows = crc32(key.encode()) % 100 < self.wit + 10 * self.records
        return self.gold[key] if knows else "<tool_call>{oops"

    def key(self, conversation):
        return "".join(message.model_dump_json() for message in conversation)


class Searcher(ScriptedPredictor):
    """Looks for a tool, and calls the first one that it finds without arguments."""

    def __init__(self):
        super().__init__(self.reply)

    def reply(self, conversation):
        if conversation[-1].content.startswith("[{"):
            name, arguments = json.loads(conversation[-1].content)[0]["name"], {}
        else:
            name, arguments = "ToolSearcher", {"keywords": "today"}
        return as_calls_text([ToolCall(name=name, arguments=arguments)])
'''
SLOW = pytest.mark.slow
STUDENT = ("predictor=custom", "predictor._target_=callers.Caller")
BFCL = ("task=bfcl", "task.sources=bfcl", "task.fractions={train: 0.5, validation: 0.3, test: 0.2}")


def overall(out: str) -> float:
    """The score in the table's last line."""
    (line,) = (line for line in out.splitlines() if line.strip().startswith("all"))
    return float(line.split()[1])


@pytest.fixture
def folder(folder, monkeypatch):
    """The user's folder, with such a student and small data sets."""
    (folder / "callers.py").write_text(CALLERS)
    write_bfcl(folder / "bfcl")
    write_dialogues(folder / "api-bank")
    return folder


def test_eval_shows_the_score_of_each_subset_and_the_errors(dataenvgym, folder):
    arguments = ("task=bfcl", "task.sources=bfcl", *STUDENT)
    result = dataenvgym.succeeds("eval", *arguments, "+predictor.wit=100", "--split", "all")
    for subset in ("simple", "multiple", "parallel", "irrelevance"):
        assert f" {subset} " in result.out
    assert "arguments_matched" in result.out
    output = folder / "completed.jsonl"
    result = dataenvgym(
        "eval", *arguments, "task.subset=parallel", "+predictor.wit=0", "--split", "all",
        "--output", str(output),
    )  # fmt: skip
    completed = read_completed(output)
    assert [c.reward for c in completed] == [0.0] * 4
    assert all(c.scores["names_matched"] == 0.0 for c in completed)
    assert completed[0].note.startswith("expected say(")


@pytest.mark.parametrize(
    "agent",
    ["gold", "skill_list", *(pytest.param(n, marks=SLOW) for n in ("open_ended", "skill_tree"))],
)
def test_a_run_teaches_calls_with_each_strategy(dataenvgym, folder, agent):
    engine = (
        () if agent == "gold" else ("agent/engine=rejection_sampling", "agent.engine.samples=1")
    )
    size = () if agent in ("gold", "skill_tree") else ("agent.records_per_iteration=6",)
    options = ("agent=" + agent, *engine, *size, "episode.iterations=2", "name=r")
    dataenvgym.succeeds("run", *BFCL, *STUDENT, "+predictor.wit=40", *options)
    summary = read_json(folder / "runs" / "r" / "summary.json")
    assert summary["status"] == "finished"
    first, *_, last = (i["val_score"] for i in summary["iterations"])
    assert last > first
    records = list(read_jsonl(folder / "runs" / "r" / "iterations" / "001" / "records.jsonl"))
    assert {record["kind"] for record in records} == {"chat"}
    assert all(record["tools"] for record in records)


def test_api_bank_can_be_evaluated_with_and_without_search(dataenvgym, folder):
    arguments = ("task=api_bank", "task.sources=api-bank", *STUDENT, "+predictor.wit=100")
    result = dataenvgym("eval", *arguments, "--split", "all")
    assert result.code == 0
    assert "rouge_l" in result.out
    assert overall(result.out) == 1.0
    output = folder / "completed.jsonl"
    searching = ("task.search=tool", "task.turns=calls", "predictor._target_=callers.Searcher")
    options = ("--split", "all", "--output", str(output))
    assert dataenvgym("eval", *arguments[:3], *searching, *options).code == 0
    for completed in read_completed(output):
        first, *_, asked, told, said = completed.transcript
        assert [tool.name for tool in first.tools] == ["ToolSearcher"]
        assert (asked.tool_calls[0].name, told.role) == ("ToolSearcher", "tool")
        assert (said.tool_calls[0].name, told.content[:22]) == (
            "GetToday",
            '[{"name": "GetToday", ',
        )
        assert completed.reward == float(completed.instance.skill == "GetToday")


def test_a_bad_file_is_a_users_error_that_names_the_place(dataenvgym, folder):
    file = folder / "bfcl" / "BFCL_v4_multiple.json"
    file.write_text(file.read_text().replace('"function"', "function", 1))
    result = dataenvgym("eval", "task=bfcl", "task.sources=bfcl", "predictor=custom",
                        "predictor._target_=my_students.MyStudent", "--split", "all")  # fmt: skip
    assert result.code == 2
    assert "bfcl/BFCL_v4_multiple.json:1: not valid JSON" in result.err
