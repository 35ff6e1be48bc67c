"""The task: problems of a world, from its own file or others."""

import json

import pytest

from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.errors import ConfigurationError


def problem(n):
    gold = [{"name": "switch", "arguments": {"lamp": f"lamp_{n % 3}", "on": True}}]
    return {"id": f"p{n}", "instruction": f"Switch lamp {n}.", "skill": f"s{n % 2}", "gold": gold}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(problem(n)) + "\n" for n in range(20)))
    return path


def test_the_task_is_named_after_its_world_or_as_asked(lamps, path):
    assert ToolUseTask(lamps, path).name == "lamps"
    task = ToolUseTask(lamps, path, name="mine")
    assert {p.task for p in task.instances} == {"mine"}
    assert {p.data["world"] for p in task.instances} == {"lamps"}


def test_the_student_reads_the_policy_the_tools_and_the_problem(lamps, path):
    task = ToolUseTask(lamps, path, system_prompt="Be short.")
    first, said = task.domain.prompt(task.instances[0])
    assert first.content == "Switch what you are asked to.\n\nBe short."
    assert [tool.name for tool in first.tools] == ["look", "switch", "misbehave", "peek"]
    assert said.content == task.instances[0].instruction


def test_a_world_is_named_by_its_class_and_without_a_file_of_its_own_needs_sources(lamps):
    task = ToolUseTask("dataenvgym.domains.tool_use.worlds.shop.Shop")
    assert [p.id for p in task.instances] == [p.id for p in ToolUseTask("shop").instances]
    with pytest.raises(ConfigurationError, match="comes without"):
        ToolUseTask(lamps)
    with pytest.raises(ConfigurationError, match="no source"):
        _ = ToolUseTask("shop", sources={}).instances
