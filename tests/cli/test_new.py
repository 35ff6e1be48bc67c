"""`dataenvgym new`: its skeletons work at once."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from dataenvgym.cli.new import KINDS
from dataenvgym.storage import read_json
from tests.processes import python

NAMES = {"agent": "weak_skills", "task": "evenness_task", "domain": "sums"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_a_test_and_a_yaml_file_are_written_under_the_name(dataenvgym, folder, kind):
    name = NAMES[kind]
    result = dataenvgym.succeeds("new", kind, name)
    group = KINDS[kind]
    files = {str(p.relative_to(folder / name)) for p in (folder / name).rglob("*") if p.is_file()}
    assert files == {f"{name}.py", f"test_{name}.py", f"configs/{group}/{name}.yaml"}
    for file in files:
        assert file in result.out
        text = (folder / name / file).read_text()
        assert "skeletons" not in text
        assert "My" not in text
        assert "my_" not in text
    assert f"python -m pytest test_{name}.py" in result.out
    assert f"--config-dir configs {group}={name}" in result.out
    if kind == "task":  # a class is named after the name once
        assert "class EvennessTask(Task)" in (folder / name / f"{name}.py").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_formatted_and_its_imports_are_sorted(dataenvgym, folder, kind):
    dataenvgym("new", kind, NAMES[kind])
    ruff = [sys.executable, "-m", "ruff"]
    for check in (["check", "--select", "E,F,I"], ["format", "--check"]):
        command = [*ruff, *check, "--isolated", "--no-cache", "."]
        done = subprocess.run(command, cwd=folder / NAMES[kind], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_existing_files_are_not_overwritten(dataenvgym, folder):
    assert dataenvgym("new", "agent", "mine_own").code == 0
    module = folder / "mine_own" / "mine_own.py"
    module.write_text("changed")
    dataenvgym.refuses(
        "mine_own already exists: choose another name, or remove it", "new", "task", "mine_own"
    )
    assert module.read_text() == "changed"


@pytest.mark.parametrize("kind", KINDS)
def test_the_tests_of_the_skeletons_pass_as_they_are_in_the_package(tmp_path, kind):
    module = import_module(f"dataenvgym.cli.skeletons.test_my_{kind}")
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    assert len(tests) >= 2
    for test in tests.values():
        test(*[tmp_path][: test.__code__.co_argcount])


def run(*command: str, folder: Path) -> str:
    done = python("-m", *command, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_its_own_test_passes_and_a_small_run_with_it(dataenvgym, folder, kind):
    name = NAMES[kind]
    dataenvgym("new", kind, name)
    (folder / name / "my_students.py").write_text((folder / "my_students.py").read_text())
    assert " passed" in run("pytest", "-q", f"test_{name}.py", folder=folder / name)
    options = [
        "predictor=custom",
        "predictor._target_=my_students.MyStudent",
        "episode.iterations=1",
    ]
    sizes = ["task.n_train=100", "task.n_validation=20", "task.n_test=20"]
    options += sizes if kind == "agent" else ["agent=gold"]
    choice = ["--config-dir", "configs", f"{KINDS[kind]}={name}", "name=r"]
    run("dataenvgym.cli.main", "run", *choice, *options, folder=folder / name)
    summary = read_json(folder / name / "runs" / "r" / "summary.json")
    assert summary["status"] == "finished"
    assert summary["iterations"][1]["n_records"] > 0
