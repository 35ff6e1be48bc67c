"""Tasks whose answer is calls of tools, from the command line."""

import pytest

from dataenvgym.storage import read_json, read_jsonl
from tests.calls_files import write_bfcl

CALLERS = '''
"""A student that learns to call tools, in the problems of the files beside it."""

from zlib import crc32

from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.domains.tool_use.calls.task import BFCLTask


class Caller(ScriptedPredictor):
    """Knows a share of the gold answers that grows with the records it was trained on."""

    def __init__(self, wit=20):
        super().__init__(self.reply)
        self.wit = wit
        task = BFCLTask("bfcl").whole()
        self.gold = {self.key(task.domain.prompt(i)): i.answer for i in task.instances}

    def reply(self, conversation):
        assert conversation[0].tools
        key = self.key(conversation)
        knows = crc32(key.encode()) % 100 < self.wit + 10 * self.records
        return self.gold[key] if knows else "<tool_call>{oops"

    def key(self, conversation):
        return "".join(message.model_dump_json() for message in conversation)
'''
STUDENT = ("predictor=custom", "predictor._target_=callers.Caller")
BFCL = ("task=bfcl", "task.sources=bfcl", *STUDENT)


@pytest.fixture(autouse=True)
def _calls(folder):
    """The user's folder has such a student and a small data set."""
    (folder / "callers.py").write_text(CALLERS)
    write_bfcl(folder / "bfcl")


@pytest.mark.parametrize("agent", ["gold", "skill_list"])
def test_a_run_teaches_calls(dataenvgym, folder, agent):
    tries = ("agent/engine=rejection_sampling", "agent.engine.samples=1")
    engine = () if agent == "gold" else (*tries, "agent.records_per_iteration=6")
    split = "task.fractions={train: 0.5, validation: 0.3, test: 0.2}"
    options = (f"agent={agent}", *engine, "episode.iterations=2", "name=r")
    dataenvgym.succeeds("run", *BFCL, split, "+predictor.wit=40", *options)
    summary = read_json(folder / "runs" / "r" / "summary.json")
    assert summary["status"] == "finished"
    first, *_, last = (i["val_score"] for i in summary["iterations"])
    assert last > first
    rows = read_jsonl(folder / "runs" / "r" / "iterations" / "001" / "records.jsonl")
    records = [row["record"] for row in rows if row["verdict"] == "accepted"]
    assert {record["kind"] for record in records} == {"chat"}
    assert all(record["tools"] for record in records)
    evaluated = dataenvgym.succeeds("eval", "--run", "r", "--trust").out
    for word in ("simple", "multiple", "parallel", "irrelevance", "arguments_matched"):
        assert f" {word} " in evaluated
