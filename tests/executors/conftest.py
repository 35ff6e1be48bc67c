"""A user's folder with students and agents of their own, and episodes composed in it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.config import compose
from dataenvgym.executors import Episode

PUPILS = '''
"""Students and agents that a user might have written."""

import os
import signal
from functools import cache
from pathlib import Path
from zlib import crc32

from dataenvgym.agents import Agent
from dataenvgym.predictors import InProcessPredictor, ScriptedPredictor
from dataenvgym.tasks.math.pocket import PocketMathTask


@cache
def solutions():
    task = PocketMathTask(n_validation=20, n_test=20, n_train=20)
    return {
        instance.instruction: f"#### {instance.answer}"
        for split in ("train", "validation", "test")
        for instance in task.on(split).instances
    }


def die_once(name):
    """Kill this process, but not if that has happened before."""
    try:
        Path(f"died-{name}").touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Pupil(ScriptedPredictor):
    """Knows a share of the answers that grows with the records it was trained on."""

    def __init__(self, wit=20):
        super().__init__(self.reply)
        self.wit = wit

    def reply(self, conversation):
        question = conversation[-1].content
        knows = crc32(question.encode()) % 100 < self.wit + self.records
        return solutions().get(question, "?") if knows else "#### 99"


class Sickly(Pupil):
    """Dies at every answer while there is a file `sick`."""

    def reply(self, conversation):
        if Path("sick").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reply(conversation)

    def describe(self):
        return {"name": "Pupil"}


class Mortal(InProcessPredictor):
    """The real student; dies in the middle of its answers, and at the end of a training."""

    calls = 0

    def predict(self, conversations, sampling):
        self.calls += 1
        if self.calls == 5:  # three calls are iteration 0's, the next three iteration 1's
            die_once("answering")
        return super().predict(conversations, sampling)

    def train(self, training_data, run):
        super().train(training_data, run)
        if run.directory.name == "002":
            die_once("training")

    def describe(self):
        return {**super().describe(), "name": "InProcessPredictor"}


class Clumsy(Agent):
    def __call__(self, completed, predictor):
        return [{"instruction": "no output"}]


class Buggy(Agent):
    def __call__(self, completed, predictor):
        return 1 // 0


class Fragile(Agent):
    """Its process dies in its second iteration, the first time."""

    def __call__(self, completed, predictor):
        if self.iteration == 2:
            die_once("teaching")
        return super().__call__(completed, predictor)


class Impatient(Agent):
    """Presses Ctrl-C."""

    def __call__(self, completed, predictor):
        raise KeyboardInterrupt
'''

SCRIPTED = (
    "predictor=custom",
    "predictor._target_=pupils.Pupil",
    "task.n_validation=20",
    "task.n_test=20",
    "agent.records_per_iteration=20",
    "episode.iterations=2",
)
REAL = (
    "task.n_validation=60",
    "task.n_test=40",
    "task.chunk_size=20",
    "agent.records_per_iteration=60",
    "trainer.num_train_epochs=1",
    "episode.iterations=2",
    "predictor.threads=1",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """The current folder, with `pupils.py` in it."""
    (tmp_path / "pupils.py").write_text(PUPILS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pupils", raising=False)
    return tmp_path


@pytest.fixture
def scripted(folder):
    """Makes an episode of less than a second, with a student by rule."""

    def make(*overrides: str, **options: Any) -> Episode:
        return Episode(compose([*SCRIPTED, *overrides]), **options)

    return make


@pytest.fixture
def scripted_overrides() -> tuple[str, ...]:
    return SCRIPTED


@pytest.fixture
def real(folder):
    """Makes an episode of some seconds, with the pocket student."""

    def make(*overrides: str, **options: Any) -> Episode:
        return Episode(compose([*REAL, *overrides]), **options)

    return make


@pytest.fixture
def comparable():
    """All that two runs of the same episode have in common: no times, and no folders of theirs."""
    return _comparable


def _comparable(directory: Path) -> dict[str, object]:
    files: dict[str, object] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if not path.is_file() or name in ("events.jsonl", "config.yaml", "log.txt"):
            continue
        data: object = path.read_bytes()
        if path.name in ("iteration.json", "summary.json"):
            data = _without_seconds(json.loads(path.read_bytes()))
        elif path.suffix in (".yaml", ".json"):
            data = path.read_text().replace(str(directory.resolve()), "DIRECTORY")
        elif path.name == "report.md":
            data = re.sub(r"(?s)## Timings.*", "", path.read_text())
        files[name] = data
    return files


def _without_seconds(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_seconds(v) for k, v in value.items() if k != "seconds"}
    return [_without_seconds(v) for v in value] if isinstance(value, list) else value
