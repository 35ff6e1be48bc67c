"""The section for users of DataEnvGym: its commands and names work."""

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpy.random import default_rng
from omegaconf import OmegaConf

from dataenvgym.agents import Assignment
from dataenvgym.agents.skills.catalog import read_catalog
from dataenvgym.errors import ConfigurationError, PredictionError
from dataenvgym.runs.config import build_agent, compose
from dataenvgym.runs.config.groups import options_by_group
from dataenvgym.storage import write_json
from tests.fakes import Teacher, lost

PAGE = Path(__file__).parents[1] / "docs" / "reproducing.md"
TEXT = PAGE.read_text().partition("## Coming from DataEnvGym\n")[2].partition("\n## ")[0]
COMMANDS = re.findall(r"^    dataenvgym run (.+)$", TEXT.replace("\\\n", " "), flags=re.MULTILINE)
OVERRIDES = sorted(
    {
        part
        for code in re.findall(r"`([^`]+)`", TEXT)
        for part in code.split()
        if re.match(r"(agent|task|skills|environment|predictor|trainer|teacher|student)[/=]", part)
        and "..." not in part
    }
)


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setenv("DATAENVGYM_DATA", "/data")


def targets(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("_target_"), str):
            yield value["_target_"]
        for inner in value.values():
            yield from targets(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from targets(inner)


def test_the_page_has_commands():
    assert len(COMMANDS) >= 10
    assert len(OVERRIDES) > 15


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_composes_and_names_existing_classes(command):
    config = OmegaConf.to_container(compose(shlex.split(command)), resolve=True)
    for path in targets(config):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
    if "experiment=" in command:
        assert config["environment"]["mode"] == "accumulate"
        assert config["agent"]["records_per_iteration"] in (120, 1000)
        assert config["trainer"]["_target_"].endswith("LlamaFactoryTrainer")


def test_each_option_in_the_tables_exists():
    groups = options_by_group()  # each option of them composes: see config/test_composition.py
    assert [o for o in OVERRIDES if o.split("=")[1] not in groups[o.split("=")[0]]] == []


def test_a_skill_file_published_by_dataenvgym_is_no_catalog_of_ours(tmp_path):
    published = tmp_path / "skills.json"
    skill = {"name": "adding", "reason_for_skill": None}
    asked = {"instance_id": "1", "instruction": "1 + 1", "skill": skill}
    write_json(published, {"labeled_instructions": [asked], "skill_categories": []})
    with pytest.raises(ConfigurationError, match="DataEnvGym") as said:
        read_catalog(published)
    assert "skills.json" in str(said.value)
    assert "`skills=dataenvgym skills.path=FILE`" in TEXT


def test_the_trees_that_follow_a_pattern_are_not_said_to_follow_rewards():
    (row,) = re.findall(r"^\|.*ConfigurableActionPolicy.*$", TEXT, flags=re.MULTILINE)
    assert "`agent=skill_tree_threshold`" in row.partition(" | ")[2]


def test_the_random_baseline_there_sends_the_same_request_each_time():
    teacher = Teacher(lost)
    overrides = ["agent/policy=free", "agent/engine=llm", "prompt=math_records_alone"]
    agent = build_agent(compose(["agent=random", *overrides]), teacher=teacher)
    assert all(o in TEXT for o in overrides)
    with pytest.raises(PredictionError, match="HTTP 503"):
        agent.engine.generate((Assignment(3),), None, default_rng(0))
    (text,) = set(teacher.asked)
    assert text.startswith("Write 3 new training records with problems of math competitions.")
