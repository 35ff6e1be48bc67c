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

PUPILS = (Path(__file__).parents[1] / "pupils.py").read_text()

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
