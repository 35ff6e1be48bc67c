"""Pages whose files, Python blocks and commands run in an empty folder, as a reader types them.

A block with a title is a file: ```python title="my_agent.py".
"""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataenvgym.cli.main import main

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^ {4}dataenvgym (.+)$", re.MULTILINE)
PAGES = {
    page.name: page.read_text()
    for page in sorted((ROOT / "docs").glob("*.md"))
    if ' title="' in page.read_text() or page.name == "quickstart.md"
}
NOT_HERE = re.compile(r"openai|vllm|llamafactory|my_module|=mine|http|RUN|task=pocket_code")
SHORT = "episode.iterations=1"
SHORT_RECORDS = "environment.max_records=20"  # also where the agent has no such option
SHORT_TASK = ("task.n_validation=20", "task.n_test=20")
SHORT_AGENT = "agent.records_per_iteration=20"


def files_of(page: str) -> dict[str, str]:
    return {title: text for _, title, text in BLOCK.findall(PAGES[page]) if title}


def blocks_of(page: str) -> list[str]:
    return [t for kind, title, t in BLOCK.findall(PAGES[page]) if kind == "python" and not title]


def commands_of(page: str) -> list[list[str]]:
    """Commands that can run here: with the pocket student, without a server or a key."""
    lines = COMMAND.findall(PAGES[page].replace("\\\n", " "))
    lines = [re.split(r"\s+#(?!#)", line)[0] for line in lines]
    lines = [re.sub(r"student=hf student.path=\S+", "", line) for line in lines]
    return [shlex.split(line) for line in lines if "--dry" in line or not NOT_HERE.search(line)]


def shortened(command: list[str]) -> list[str]:
    """The command with a smaller task, fewer records and one iteration."""
    words = " ".join(command)
    if command[0] not in ("run", "eval") or "--dry" in words:
        return command
    short = list(SHORT_TASK if "task=" not in words or "task=pocket" in words else ())
    if command[0] == "run":
        short.append(SHORT)
        short += [] if " environment=" in words else [SHORT_RECORDS]
        short += [] if re.search(r"config-dir| agent=(\w+\.|gold)", words) else [SHORT_AGENT]
    given = {word.partition("=")[0] for word in command}
    return [*command, *(key for key in short if key.partition("=")[0] not in given)]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty folder, as the current one; modules that are imported from it are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "no key: nothing is asked")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def write_files(page: str, folder: Path) -> None:
    """Write the files of the page, and problems.jsonl of the recipes, which several pages name."""
    for name, text in {**files_of("recipes.md"), **files_of(page)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_there_are_pages_with_files_blocks_and_commands():
    assert len(PAGES) >= 8
    assert sum(len(blocks_of(page)) for page in PAGES) >= 5
    assert sum(len(commands_of(page)) for page in PAGES) >= 12


@pytest.mark.parametrize("page", list(PAGES))
def test_the_files_of_a_page_can_be_imported_and_fit_the_width_of_a_page(page, folder):
    write_files(page, folder)
    for name, text in files_of(page).items():
        if name.endswith(".py"):
            assert max(map(len, text.splitlines())) <= 100, f"{page}: {name}"
        if name.endswith(".py") and "import torch" not in text:
            importlib.import_module(name.removesuffix(".py"))


@pytest.mark.slow
@pytest.mark.parametrize("page", list(PAGES))
def test_a_page_works_from_top_to_bottom(page, folder, capfd):
    write_files(page, folder)
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), {"__name__": "block"})
    for command in commands_of(page):
        assert main(shortened(command)) == 0, f"{command}: {capfd.readouterr().err}"


def test_the_pages_show_all_four_protocols(folder):
    from dataenvgym import interfaces

    for page in PAGES:
        write_files(page, folder)
    agent = importlib.import_module("my_agent").WeakSkillsAgent()
    task = importlib.import_module("capitals").CapitalsTask()
    student = importlib.import_module("my_student").LookUp()
    environment = importlib.import_module("my_environment").PricedEnvironment(task, student)
    assert isinstance(agent, interfaces.DataGenerationAgentInterface)
    assert isinstance(agent, interfaces.Stateful)
    assert isinstance(task, interfaces.TaskInterface)
    assert isinstance(student, interfaces.TrainablePredictorInterface)
    assert isinstance(environment, interfaces.EnvironmentInterface)


def test_the_least_task_and_the_least_student_work_together(folder):
    from dataenvgym import OpenEnded

    write_files("write_your_own_task.md", folder)
    write_files("write_your_own_student.md", folder)
    task = importlib.import_module("capitals").CapitalsTask()
    student = importlib.import_module("my_student").LookUp()
    environment = OpenEnded(task, student, directory=folder / "run")
    _, info = environment.reset(seed=0)
    assert info["score"] == 0.0
    leak = {"instruction": "Capital of Japan?", "output": "It is Tokyo."}
    harmless = {"instruction": "Capital of Italy?", "output": "It is Rome."}
    _, reward, *_, info = environment.step([leak, harmless])
    assert (reward, info["n_records"], info["n_dropped"]) == (0.0, 1.0, 1.0)
    assert student.known == {"Capital of Italy?": "It is Rome."}
    resumed = OpenEnded(task, type(student)(), directory=folder / "run")
    resumed.reset(seed=0, options={"resume": True})
    assert resumed.predictor.known == student.known
    assert resumed.step([leak])[4]["n_dropped"] == 1.0
