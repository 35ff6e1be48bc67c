"""Shared by tests of predictors with servers: a fake server, and adapters for it."""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.predictors.vllm import own_server, server

PROGRAM = Path(__file__).with_name("vllm") / "stand_in_server.py"


class StandIn:
    """The servers that a test starts, with their scripted events and requests."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.command = [sys.executable, "-S", str(PROGRAM), "--state", str(state)]
        state.mkdir()

    def plan(self, *lives: dict[str, Any]) -> None:
        """The events in each life of a server."""
        (self.state / "plan.json").write_text(json.dumps(lives))

    @property
    def lives(self) -> list[str]:
        """The arguments of each server that was started."""
        file = self.state / "lives"
        return file.read_text().splitlines() if file.exists() else []

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        """Requests and commands that the servers received."""
        file = self.state / "events.jsonl"
        found = (
            [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        )
        return [event for event in found if event["event"] in kinds]

    @contextmanager
    def runs(self, *arguments: str, **environment: str) -> Iterator[str]:
        """One that somebody else started; its URL."""
        with subprocess.Popen(
            [*self.command, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        ) as process:
            assert process.stdout is not None
            try:
                yield f"http://127.0.0.1:{process.stdout.readline().split()[-1]}"
            finally:
                process.kill()


def ask(predictor: Any, text: str = "?") -> Any:
    """The text of the reply, or the failure."""
    (reply,) = predictor.predict([(Message(role="user", content=text),)], SamplingParameters())
    return reply.text if isinstance(reply, Reply) else reply


def who(predictor: Any) -> str:
    """Who answers: the folder of the adapter, or of the student."""
    return str(ask(predictor).partition("|")[0])


def program(server: Any) -> psutil.Process:
    """The server itself, below its guard."""
    (found,) = psutil.Process(server.pid).children()
    return found


def call(url: str, **content: Any) -> None:
    """Send a command to a fake server."""
    with urllib.request.urlopen(url, json.dumps(content).encode()):
        pass


class Trainer:
    """Writes an adapter with content of its own, or a whole student."""

    def __init__(self, **options: Any) -> None:
        self.config = TrainingConfig(**options)
        self.during: Callable[[], None] = lambda: None

    def train(self, config_path: Path) -> Path:
        self.during()
        config = TrainingConfig.read(config_path)
        folder = Path(config.output_dir or "")
        if config.finetuning_type == "lora":
            return write_adapter(folder, rank=config.lora_rank)
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        header = json.dumps({"__metadata__": {"of": os.urandom(8).hex()}}).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
        return folder


def write_adapter(folder: Path, *, rank: int = 8) -> Path:
    """Something that looks like an adapter."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": 16}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_text(str(folder))
    return folder


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Servers that are not vLLM's; none is left at the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for module in (own_server, server):
        monkeypatch.setattr(module, "POLL_SECONDS", 0.02)
    yield StandIn(tmp_path / "state")
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(tmp_path / "state") in (process.info["cmdline"] or [])
        and process.status() != psutil.STATUS_ZOMBIE
    ]
    for process in left:
        process.kill()
    assert not left, "a server was left over"


@pytest.fixture
def student(tmp_path):
    """The folder of a student; fake servers do not read it."""
    folder = tmp_path / "student"
    folder.mkdir()
    (folder / "config.json").write_text('{"torch_dtype": "float32", "vocab_size": 7}')
    layer = {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}
    header = json.dumps({"model.layers.0.self_attn.q_proj.weight": layer}).encode()
    weights = len(header).to_bytes(8, "little") + header + bytes(24)
    (folder / "model.safetensors").write_bytes(weights)
    return str(folder)


@pytest.fixture
def make(stand_in, student):
    """Predictors with a fake server; closed at the end."""
    with ExitStack() as stack:

        def make(trainer: Any = None, **options: Any) -> VllmPredictor:
            options = {"command": stand_in.command, "variant": "cpu", **options}
            options = {"retries": 0, "start_timeout": 30.0, **options}
            if options.get("base_url") is not None:
                del options["command"], options["variant"]
            folder = options.pop("student", student)
            predictor = VllmPredictor(folder, trainer or Trainer(), **options)
            stack.callback(predictor.close)
            return predictor

        yield make


@pytest.fixture
def adapter(tmp_path):
    """Writes something that looks like an adapter to a folder of that name."""
    return lambda name, rank=8: write_adapter(tmp_path / name, rank=rank)


@pytest.fixture
def tell():
    """Sends a command to a fake server, by its URL."""
    return call


@pytest.fixture
def make_trainer():
    """A trainer that writes a fake adapter, or a fake whole student."""
    return Trainer
