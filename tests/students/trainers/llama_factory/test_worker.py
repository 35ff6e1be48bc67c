"""The worker by itself: lines in, lines out."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.students.trainers.llama_factory import worker

WORKER = Path(worker.__file__)


@pytest.fixture
def process(command):
    python = Path(command).with_name("python")
    with subprocess.Popen(
        [python, WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as process:
        yield process


def ask(process: subprocess.Popen[str], path: Path, **environment: str) -> dict[str, Any]:
    (path.parent / "adapter").mkdir(exist_ok=True)
    request = {
        "arguments": ["train", str(path)],
        "log": str(path.parent / "log.txt"),
        "environment": environment,
    }
    assert process.stdin is not None
    process.stdin.write(json.dumps(request) + "\n")
    return told(process)


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    message: dict[str, Any] = json.loads(process.stdout.readline())
    return message


def test_it_says_who_it_is_and_then_the_code_of_each_training(process, write_training):
    ready = told(process)["ready"]
    assert ready["pid"] == process.pid
    assert ready["threads"] == ["MainThread"]
    assert ready["cuda_initialized"] is False
    path = write_training()
    assert ask(process, path) == {"code": 0}
    assert ask(process, path, STAND_IN="bad_value") == {"code": 1}
    assert ask(process, path, STAND_IN="killed") == {"code": -9}
    assert ask(process, path) == {"code": 0}


def test_the_environment_of_one_training_is_not_that_of_the_next(process, write_training):
    told(process)
    ask(process, path := write_training("a"), STAND_IN="train", ONLY_HERE="1")
    assert json.loads((path.parent / "seen.json").read_text())["environment"]["ONLY_HERE"] == "1"
    ask(process, path := write_training("b"))
    assert "ONLY_HERE" not in json.loads((path.parent / "seen.json").read_text())["environment"]


def test_it_ends_with_its_input(process):
    told(process)
    process.stdin.close()
    assert process.wait(30) == 0
    # modules that cannot be preloaded are left to the training
    assert "not imported beforehand: torch._dynamo" in process.stderr.read()
