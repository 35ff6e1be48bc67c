"""The files that pages let a reader write: they can be imported, and do what the pages say."""

import importlib
import runpy

import pytest

from tests.docs.pages import PAGES, ROOT, commands, files
from tests.docs.readers_files import write_files

WITH_FILES = [page for page in PAGES if files(page)]


@pytest.mark.parametrize("page", WITH_FILES)
def test_the_files_of_a_page_can_be_imported_and_fit_the_width_of_a_page(page, folder):
    write_files(page, folder)
    for name, text in files(page).items():
        if name.endswith(".py"):
            assert max(map(len, text.splitlines())) <= 100, f"{page}: {name}"
        if name.endswith(".py") and "import torch" not in text:
            importlib.import_module(name.removesuffix(".py"))


def test_the_pages_show_all_four_protocols(folder):
    from dataenvgym import interfaces

    for page in WITH_FILES:
        write_files(page, folder)
    agent = importlib.import_module("my_agent").WeakSkillsAgent(task=None)
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

    write_files("docs/write_your_own.md", folder)
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


@pytest.mark.slow
def test_the_pocket_student_learns_the_world_of_the_page(folder, monkeypatch):
    from dataenvgym.cli.main import main
    from dataenvgym.storage import read_json

    page = "docs/tool_use_worlds.md"
    write_files(page, folder)
    example = ROOT / "examples" / "tool_use" / "depot.py"
    assert files(page)["depot.py"] in example.read_text()
    runpy.run_path(str(example), run_name="__main__")
    monkeypatch.syspath_prepend(folder)
    (command,) = (line for line in commands(page) if "run task=world task.world=depot" in line)
    assert main([*command.split()[1:], "name=depot"]) == 0
    summary = read_json(folder / "runs" / "depot" / "summary.json")
    assert summary["iterations"][0]["val_score"] == 0.0
    assert summary["iterations"][1]["val_score"] >= 0.8
