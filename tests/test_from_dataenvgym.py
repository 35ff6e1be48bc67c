"""The page for those who come from DataEnvGym: what it tells people to type can be typed."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from dataenvgym.config import compose

PAGE = Path(__file__).parents[1] / "docs" / "from_dataenvgym.md"
TEXT = PAGE.read_text()
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
VALUES = {"task=math_jsonl": ["task.sources=problems.jsonl"], "skills=saved": ["skills.path=x"]}


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
    assert len(COMMANDS) > 10
    assert len(OVERRIDES) > 15


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_composes_and_names_classes_that_there_are(command):
    config = OmegaConf.to_container(compose(shlex.split(command)), resolve=True)
    for path in targets(config):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name)
    if "experiment=" in command:
        assert config["environment"]["mode"] == "accumulate"
        assert config["agent"]["records_per_iteration"] == 120
        assert config["trainer"]["_target_"].endswith("LlamaFactoryTrainer")


@pytest.mark.parametrize("override", OVERRIDES)
def test_each_option_that_the_tables_name_is_there(override):
    more = VALUES.get(override, ["student.path=x"] if override == "student=hf" else [])
    needs_model = override == "teacher=openai"
    compose([override, *more, *(["teacher.model=x"] if needs_model else [])])
