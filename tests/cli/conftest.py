"""A user's folder with students and agents of their own, and the command line run in it."""

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from dataenvgym.cli.console import SETTINGS
from dataenvgym.cli.main import main

MY_STUDENTS = (Path(__file__).parents[1] / "my_students.py").read_text()
SMALL = (
    "predictor=custom",
    "predictor._target_=my_students.MyStudent",
    "task.n_validation=20",
    "task.n_test=20",
    "agent.records_per_iteration=20",
    "episode.iterations=2",
)


@pytest.fixture(scope="module", autouse=True)
def _pictures(pictures_are_shared):
    """Nothing here is about them."""


class Result(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


class Command:
    """Runs `dataenvgym` with these arguments, in this process."""

    def __init__(self, capsys):
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Result:
        code = main(arguments)
        return Result(code, *self._capsys.readouterr())

    def succeeds(self, *arguments: str) -> Result:
        result = self(*arguments)
        assert (result.code, result.err) == (0, "")
        return result

    def refuses(self, said: str, *arguments: str) -> Result:
        """A mistake of the user, which the error names."""
        result = self(*arguments)
        assert (result.code, result.out) == (2, "")
        assert said in result.err
        return result


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "my_students.py").write_text(MY_STUDENTS)
    patch.chdir(folder)
    patch.setattr(sys, "path", [p for p in sys.path if p != ""])
    patch.delitem(sys.modules, "my_students", raising=False)
    for name in SETTINGS:  # set and taken back, so that the command's own settings go too
        patch.setenv(name, os.environ.get(name, SETTINGS[name]))
    patch.setattr(logging.getLogger(), "handlers", logging.getLogger().handlers[:])
    patch.setenv("COLUMNS", "100")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A user's current folder, with `my_students.py`; global state of the process is restored."""
    enter(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def dataenvgym(folder, capsys):
    return Command(capsys)


@pytest.fixture
def small():
    """A run of less than a second: a student by rule, 20 problems, 2 iterations."""
    return SMALL


@pytest.fixture(scope="session")
def finished_runs(tmp_path_factory):
    """The folder `runs` with the finished run `r` of `SMALL`; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        assert main(["run", *SMALL, "name=r"]) == 0
    sys.modules.pop("my_students", None)
    return folder / "runs"


@pytest.fixture
def run(finished_runs, folder):
    """The current folder has the finished run `r`; its directory."""
    shutil.copytree(finished_runs, folder / "runs")
    return folder / "runs" / "r"
