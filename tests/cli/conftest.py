"""A user's folder with students and agents of their own, and the command line run in it."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from dataenvgym.cli.main import main
from dataenvgym.cli.quiet import SETTINGS

PUPILS = '''
"""Students and agents that a user might have written."""

import os
import signal
from functools import cache
from zlib import crc32

from dataenvgym.agents import Agent
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.tasks.math.pocket import PocketMathTask


@cache
def solutions():
    task = PocketMathTask(n_validation=20, n_test=20, n_train=20)
    return {
        instance.instruction: f"#### {instance.answer}"
        for split in ("train", "validation", "test")
        for instance in task.on(split).instances
    }


class Pupil(ScriptedPredictor):
    """Knows a share of the answers that grows with the records it was trained on."""

    def __init__(self, wit=20):
        super().__init__(self.reply)
        self.wit = wit

    def reply(self, conversation):
        question = conversation[-1].content
        knows = crc32(question.encode()) % 100 < self.wit + self.records
        return solutions().get(question, "?") if knows else "#### 99"


class Clumsy(Agent):
    def __call__(self, completed, predictor):
        return [{"instruction": "no output"}]


class Buggy(Agent):
    def __call__(self, completed, predictor):
        return 1 // 0


class Impatient(Agent):
    """Presses Ctrl-C in its second iteration, the first time."""

    def __call__(self, completed, predictor):
        if self.iteration == 2 and not hasattr(Impatient, "calmed"):
            Impatient.calmed = True
            raise KeyboardInterrupt
        return super().__call__(completed, predictor)


class Unwanted(Agent):
    """Is sent SIGTERM in its second iteration."""

    def __call__(self, completed, predictor):
        if self.iteration == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().__call__(completed, predictor)
'''
SMALL = (
    "predictor=custom",
    "predictor._target_=pupils.Pupil",
    "task.n_validation=20",
    "task.n_test=20",
    "agent.records_per_iteration=20",
    "episode.iterations=2",
)


class Result(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


class Command(Protocol):
    """Runs `dataenvgym` with these arguments, in this process."""

    def __call__(self, *arguments: str) -> Result: ...


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """A user's current folder, with `pupils.py` in it; what the process keeps is put back."""
    (tmp_path / "pupils.py").write_text(PUPILS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p != ""])
    monkeypatch.delitem(sys.modules, "pupils", raising=False)
    for name in SETTINGS:  # set and taken back, so that the command's own settings go too
        monkeypatch.setenv(name, os.environ.get(name, SETTINGS[name]))
    monkeypatch.setattr(logging.getLogger(), "handlers", logging.getLogger().handlers[:])
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def dataenvgym(folder: Path, capsys) -> Command:
    def run(*arguments: str) -> Result:
        code = main(arguments)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def small() -> tuple[str, ...]:
    """A run of less than a second: a student by rule, 20 problems, 2 iterations."""
    return SMALL
