"""A task whose tools are those of an MCP server."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing

import pytest

pytest.importorskip("mcp", reason="needs the extra [mcp]")

from dataenvgym.domains.tool_use.mcp import McpServer
from dataenvgym.domains.tool_use.mcp.server import served
from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import DataEnvGymError
from dataenvgym.records import Message, ToolCall
from dataenvgym.records.tool_formats import as_reply
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.building import build_task
from dataenvgym.students.predictors import ScriptedPredictor
from tests.fakes import turn_of

WRITE = {"name": "write", "arguments": {"title": "new", "text": "milk"}}
PROBLEM = {
    "id": "p",
    "instruction": "Note milk.",
    "skill": "write",
    "gold": [WRITE],
    "basis": ["calls", "said"],
    "said": ["noted"],
}


def calls(*names_and_arguments):
    tool_calls = tuple(ToolCall(name=n, arguments=a) for n, a in names_and_arguments)
    return as_reply(Message(role="assistant", content="", tool_calls=tool_calls))


def scripted(*lines):
    """Says its lines, one in each turn."""
    return ScriptedPredictor(lambda conversation: lines[turn_of(conversation)])


WRITES = calls(("write", WRITE["arguments"]))
SOLVES = scripted(WRITES, "It is noted.")


@pytest.fixture
def task_with(tmp_path, notes_url):
    """A task with these problems, on a server."""
    made = []

    def make(*problems, url=notes_url, **options):
        file = tmp_path / "problems.jsonl"
        file.write_text("\n".join(map(json.dumps, problems)))
        made.append(ToolUseTask("mine", file, mcp=McpServer(url=url), **options))
        return made[-1].whole()

    yield make
    for task in made:
        task.close()


def test_a_problem_is_worked_on_in_a_session_of_its_own(task_with):
    problems = [{**PROBLEM, "id": f"p{n}", "instruction": f"Note milk, {n}."} for n in range(6)]
    task = task_with(*problems)
    read, write = ("read", {"title": "new"}), ("write", WRITE["arguments"])
    reads_first = scripted(calls(read, write, read), "It is noted.")
    for completed in task.attempt(reads_first):
        assert completed.error is None
        assert completed.was_correct
        assert completed.scores == {"calls": 1.0, "said": 1.0}
        results = [m.content for m in completed.transcript if m.role == "tool"]
        # the first call does not see a note of another session
        assert results == ["Error: there is no note new", "done", "milk"]


def test_answers_are_compared_without_making_their_calls_again(task_with, monkeypatch):
    task = task_with(PROBLEM)
    others = [calls(("write", {**WRITE["arguments"], "text": text})) for text in ("milk", "oil")]
    tries = [
        completed
        for first in (WRITES, *others)
        for completed in task.attempt(scripted(first, "It is noted."))
    ]
    monkeypatch.setattr(type(task.domain.world), "call", lambda *_: pytest.fail("called again"))
    one, same, other = map(task.domain.answer_given, tries)
    assert one == same != other


def test_a_server_that_fails_is_charged_to_the_environment(task_with, notes):
    broken = scripted(calls(("fall_over", {})), "It is noted.")
    (completed,) = task_with(PROBLEM).attempt(broken)
    assert completed.error.startswith("environment: EvaluationError: the MCP server")
    with served(notes) as url:
        task = task_with(PROBLEM, url=url)
        assert task.attempt(SOLVES)[0].was_correct
    (completed,) = task.attempt(SOLVES)
    assert completed.error.startswith("environment: EvaluationError: the MCP server")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"basis": ["calls", "state"]}, "basis"),
        ({"gold": [{"name": "wirte"}]}, "Did you mean 'write'"),
        ({"basis": ["assertions"], "assertions": [{"check": "has_note"}]}, "has_note"),
    ],
)
def test_a_problem_that_cannot_be_scored_is_refused_at_load(task_with, change, said):
    without_basis = {**PROBLEM, **change}
    with pytest.raises(DataEnvGymError, match=said):
        _ = task_with(without_basis).instances


def test_the_configuration_makes_the_task(notes_url, tmp_path):
    file = tmp_path / "problems.jsonl"
    file.write_text(json.dumps(PROBLEM))
    config = compose(["task=mcp", f"task.mcp.url={notes_url}", f"task.sources={file}"])
    with closing(build_task(config)) as task:
        assert task.domain.world.name == "mcp"
        assert task.whole().attempt(SOLVES)[0].was_correct
        record = task.domain.gold_record(task.whole().instances[0])  # its calls are made
        assert "write" in record.model_dump_json()


def test_the_package_is_imported_only_where_a_server_is_spoken_to():
    code = (
        "import sys, dataenvgym\nfrom dataenvgym.domains.tool_use.task import ToolUseTask\n"
        "from dataenvgym.domains.tool_use.mcp import McpServer, McpWorld\n"
        "ToolUseTask('shop').instances\n"
        "print([m for m in ('mcp', 'mcp_types', 'uvicorn', 'starlette') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
