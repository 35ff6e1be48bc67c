"""`dataenvgym worlds`."""

import json
from pathlib import Path

import pytest

OWN = '''
from dataenvgym.tasks.worlds import State, World, tool


class Counter(State):
    count: int = 0


class Count(World[Counter]):
    name = "count"

    def initial(self):
        return Counter()

    @tool(writes=True)
    def add(self, n: int) -> str:
        """Add to the count."""
        self.state.count += n
        return str(self.state.count)
'''
GOOD = {"id": "four", "instruction": "Add 4.", "gold": [{"name": "add", "arguments": {"n": 4}}]}
IDLE = {"id": "idle", "instruction": "Do nothing."}


@pytest.fixture
def own_world(dataenvgym):
    Path("counting.py").write_text(OWN)

    def write(*problems):
        Path("problems.jsonl").write_text("".join(json.dumps(row) + "\n" for row in problems))
        return "counting.Count", "--tasks", "problems.jsonl"

    return write


@pytest.mark.slow
def test_a_world_that_comes_with_the_package_passes(dataenvgym):
    result = dataenvgym("worlds", "audit", "shop")
    assert (result.code, result.err) == (0, "")
    assert result.out.split()[-1] == "0"


@pytest.mark.parametrize(("calls", "found"), [("", 0), ("lazily.now()", 1)])
def test_an_import_in_a_tool_may_ask_the_clock_and_the_tool_may_not(
    dataenvgym, own_world, calls, found
):
    tasks = own_world(GOOD)
    Path("lazily.py").write_text("from time import time as now\nbegun = now()\n")
    body = f"import lazily; {calls}\n        self.state"
    Path("counting.py").write_text(OWN.replace("self.state", body, 1))
    result = dataenvgym("worlds", "audit", *tasks)
    assert (result.code, result.out.count("asks time.time")) == (found, found)


def test_violations_are_shown_and_the_exit_code_is_1(dataenvgym, own_world, monkeypatch):
    # other processes, whose start takes a second, do not repeat the calls
    monkeypatch.setattr("dataenvgym.domains.tool_use.audit.compare_processes", lambda tools: None)
    result = dataenvgym("worlds", "audit", *own_world(GOOD, IDLE))
    assert result.code == 1
    assert "worlds failed: 1 violation" in result.err
    line = next(line for line in result.out.splitlines() if "idle" in line)
    assert line.split()[:3] == ["count", "idle", "nothing"]


def test_worlds_and_problems_that_cannot_be_audited_are_refused(dataenvgym, own_world):
    own_world(GOOD)
    dataenvgym.refuses("--tasks problems.jsonl", "worlds", "audit", "counting.Count")
    dataenvgym.refuses("nowhere.jsonl", "worlds", "audit", "counting.Count", "--tasks",
                       "nowhere.jsonl")  # fmt: skip
    result = dataenvgym("worlds", "audit", *own_world(GOOD | {"glod": []}))
    assert result.code == 2
    for part in ("problems.jsonl:1", "'four'", "glod"):
        assert part in result.err
