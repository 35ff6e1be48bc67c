"""Shared by tests against real external software: where it is, and how it is run."""

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dataenvgym.students.external.environments import ExternalEnvironment, external_environment
from dataenvgym.students.predictors import VllmPredictor

PROBE = Path(__file__).with_name("llama_factory_probe.py")


def installed(name: str) -> ExternalEnvironment:
    """The environment; where there is none the test is skipped, or fails where CI asks for it."""
    environment = external_environment(name)
    if not environment.is_installed and os.environ.get("DATAENVGYM_REQUIRE_EXTERNAL") != "1":
        pytest.skip(f"{name} is not installed: {environment.how_to_install}")
    return environment.require()


@pytest.fixture(scope="session")
def llama_factory_python():
    """The Python interpreter of an environment with LLaMA-Factory in it."""
    return installed("llamafactory").python


@dataclass(frozen=True)
class LlamaFactory:
    """LLaMA-Factory in an environment of its own, on the CPU and without a network."""

    python: Path
    folder: Path

    def ask(self, mode: str, *paths: Path) -> Any:
        """What `llama_factory_probe` says in that mode."""
        out = self.folder / "said.json"
        self._run(self.python, PROBE, mode, out, *paths)
        return json.loads(out.read_text())

    def train(self, training: Path) -> None:
        """Train as everybody does."""
        self._run(self.python.with_name("llamafactory-cli"), "train", training)

    def _run(self, *command: str | Path) -> None:
        environment = {
            **{name: v for name, v in os.environ.items() if name != "PYTHONPATH"},
            "CUDA_VISIBLE_DEVICES": "",
            "HF_HOME": str(self.folder / "huggingface"),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        }
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="session")
def llama_factory(llama_factory_python, tmp_path_factory):
    return LlamaFactory(llama_factory_python, tmp_path_factory.mktemp("llama_factory"))


@pytest.fixture(scope="session")
def vllm_python():
    """The Python interpreter of an environment with vLLM in it."""
    return installed("vllm").python


@pytest.fixture(scope="module")
def make_served(vllm_python, tmp_path_factory):
    """Makes students that vLLM serves, with servers of the module's own; closed at the end."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DATAENVGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        command = [str(vllm_python), "-P", "-m", "vllm.entrypoints.openai.api_server"]

        def make(student: Any, **options: Any) -> VllmPredictor:
            started = {} if "base_url" in options else {"command": command}
            made.append(VllmPredictor(student, **started, **options))
            return made[-1]

        yield make
        for predictor in made:
            predictor.close()


# else the pocket student writes spaces for ever
JSON_ONLY = {"structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True}}


def pack_wheel(folder: Path, name: str, version: str, files: Mapping[str, str | bytes]) -> Path:
    """A wheel with these files, by hand: nothing is asked of a registry."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    about = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        for path, content in about.items():
            archive.writestr(f"{module}-{version}.dist-info/{path}", content)
    return wheel
