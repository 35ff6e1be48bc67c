"""Engines and quality checks of the house on problems whose answer is calls."""

import numpy as np
import pytest

from dataenvgym.agents import Assignment, LLMEngine, PreferenceEngine
from dataenvgym.agents.engines.gold import GoldEngine
from dataenvgym.domains.tool_use.calls.problem import as_calls_text
from dataenvgym.domains.tool_use.calls.task import APIBankTask, BFCLTask
from dataenvgym.records import PreferenceDatum, ToolCall
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import Teacher

PLAN = (Assignment(3, skill="simple"),)
NOBODY = ScriptedPredictor(lambda conversation: "")


def sums(request, sampling):
    """Sums in the form of the problems that a request shows."""
    tools = request.partition("Tools:\n")[2].partition("\n")[0]
    records = [
        {
            "instruction": f"What is {n} and 0.5?\n\nTools:\n{tools}",
            "output": as_calls_text([ToolCall(name="math.add", arguments={"a": n, "b": 0.5})]),
        }
        for n in range(100, 103)
    ]
    return {"records": records}


@pytest.fixture
def task(bfcl_files):
    return BFCLTask(bfcl_files, fractions={"train": 0.5, "validation": 0.5})


def generate(engine, student=NOBODY, plan=PLAN):
    return engine.generate(plan, student, np.random.default_rng(0))


def test_wrong_calls_make_pairs_in_which_calls_stay_calls(task):
    wrong = ToolCall(name="math.add", arguments={"a": 1, "b": 1})
    student = ScriptedPredictor(lambda conversation: as_calls_text([wrong]))
    pairs = generate(PreferenceEngine(LLMEngine(Teacher(sums), task), task, rounds=1), student)
    records = [record.conversation for record in generate(LLMEngine(Teacher(sums), task))]
    assert len(pairs) == 3
    for pair in pairs:
        assert isinstance(pair, PreferenceDatum)
        (chosen, *_), (rejected, *_) = pair.segments
        assert (*pair.prompt, chosen) in records
        assert chosen.tool_calls[0].arguments["a"] >= 100
        assert rejected.tool_calls == (wrong,)


def test_pairs_are_made_in_the_middle_of_a_dialogue_too(dialogues):
    task = APIBankTask({"train": dialogues, "validation": dialogues}, fractions={"train": 1.0})
    engine = PreferenceEngine(GoldEngine(task), task, rounds=1, most_tries=9.0)
    wrong = ScriptedPredictor(lambda conversation: as_calls_text([ToolCall(name="GetToday")]))
    pairs = generate(engine, wrong, (Assignment(6),))
    roles = {pair.provenance.skill: [m.role for m in pair.prompt] for pair in pairs}
    assert roles["AddAlarm"] == [*["user", "assistant"] * 2, "tool"]
