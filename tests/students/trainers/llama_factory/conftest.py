"""A fake of LLaMA-Factory: its program, and an environment like its own."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataenvgym.records import SupervisedDatum
from tests.students.trainings import write_training as write_training_of

STAND_IN = Path(__file__).with_name("stand_in.py")

WriteTraining = Callable[..., Path]


@pytest.fixture
def command(tmp_path):
    """A `llamafactory-cli` with a Python interpreter beside it that knows `llamafactory`."""
    folder, packages = tmp_path / "environment" / "bin", tmp_path / "environment" / "packages"
    folder.mkdir(parents=True)
    for name in ("llamafactory", "llamafactory/train", "transformers", "peft", "datasets"):
        (packages / name).mkdir(parents=True, exist_ok=True)
        (packages / name / "__init__.py").touch()
    (packages / "torch.py").write_text(
        "class cuda:\n    is_initialized = staticmethod(lambda: False)\n"
    )
    (packages / "llamafactory" / "cli.py").write_text(STAND_IN.read_text())
    (packages / "llamafactory" / "launcher.py").touch()
    (packages / "llamafactory" / "train" / "tuner.py").write_text("read_args = None\n")
    program = folder / "llamafactory-cli"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH={packages}\nexport PYTHONPATH\nexec {sys.executable} "$@"\n'
    )
    for file in (program, python):
        file.chmod(0o755)
    return str(program)


@pytest.fixture
def write_training(tmp_path):
    """Writes the file for a training to the folder of that name."""

    def write(name: str = "it", **options: Any) -> Path:
        records = [SupervisedDatum(instruction="1 + 1", output="2")]
        given = {"model_name_or_path": "some/student", **options}
        return write_training_of(tmp_path / name, records, **given)

    return write


@pytest.fixture
def hanging(tmp_path):
    """The processes of a hanging fake program, once all of them run; none before."""

    def hanging() -> list[int]:
        for pids in tmp_path.glob("*/pids.json"):
            return list(json.loads(pids.read_text()))
        return []

    return hanging


@pytest.fixture
def is_gone():
    """Whether a process has ended, even if its exit status was not read."""

    def is_gone(pid: int) -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return is_gone
