"""Pinned Python environments for programs that cannot share ours.

An environment is identified by its name, its variant ("cpu" or "cuda") and the hash of its pins:
other pins go to another folder, so an update never breaks the environment of a running program.

    <cache>/external/llamafactory-cpu-1f2e3d4c5b6a/{bin/..., installed.json, install.log}

`installed.json` is written last; a folder without it was interrupted, and is built again. The cache
is the folder DATAENVGYM_CACHE, or `dataenvgym` in XDG_CACHE_HOME or ~/.cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dataenvgym.errors import ExternalError, need
from dataenvgym.storage import read_json, write_json

Variant = Literal["cpu", "cuda"]

# Installed first, with their dependencies: their builds differ between machines, and so do the
# libraries that each build needs. All other packages are pinned.
_TORCH = {"llamafactory": ("torch", "torchvision", "torchaudio"), "vllm": ("torch",)}
ENVIRONMENTS: tuple[str, ...] = tuple(_TORCH)
"""The names of the environments with pins."""

_MARK = "installed.json"


def cache_directory() -> Path:
    """The folder for files that can be made again."""
    if own := os.environ.get("DATAENVGYM_CACHE"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "dataenvgym"


def has_cuda() -> bool:
    """Whether there is an NVIDIA driver (checked without loading torch)."""
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def external_environment(name: str, variant: Variant | None = None) -> ExternalEnvironment:
    """The environment of that name, built or not.

    Args:
        name: one of `ENVIRONMENTS`.
        variant: None uses "cuda" if there is a driver for it, else "cpu".
    """
    chosen: Variant = variant or ("cuda" if has_cuda() else "cpu")
    return ExternalEnvironment(name, chosen, pins_directory() / name / f"{chosen}.txt")


@dataclass(frozen=True)
class ExternalEnvironment:
    """A virtual environment that a file of pins describes completely.

    Attributes:
        pins: a requirements file with an exact version of every package.
    """

    name: str
    variant: Variant
    pins: Path

    @property
    def folder(self) -> Path:
        """Its folder, which may not exist yet."""
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        digest = hashlib.sha256(self.pins.read_bytes() + version.encode()).hexdigest()
        return cache_directory() / "external" / f"{self.name}-{self.variant}-{digest[:12]}"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def is_installed(self) -> bool:
        """Whether it is completely installed."""
        return (self.folder / _MARK).is_file()

    @property
    def how_to_install(self) -> str:
        """The command that builds it."""
        return f"dataenvgym external install {self.name} --variant {self.variant}"

    def versions(self) -> dict[str, str]:
        """The version of each package, if it is installed; ExternalError if it is not installed."""
        self.require()
        found: dict[str, Any] = read_json(self.folder / _MARK)
        return dict(found["packages"])

    def require(self) -> ExternalEnvironment:
        """Return this environment; ExternalError if it is not installed."""
        if not self.is_installed:
            need(
                ExternalError(
                    f"the {self.variant} environment of {self.name} is not installed: run "
                    f"`{self.how_to_install}` (some minutes and GB, once)"
                )
            )
        return self

    def install(self, say: Callable[[str], None] = lambda line: None) -> None:
        """Build it, unless it is complete already; one process at a time, the others wait.

        Args:
            say: called with a line for each step.

        Raises:
            ExternalError: if pip fails, with its last lines; the next call starts again.
        """
        with one_at_a_time(self.folder, say):
            if self.is_installed:
                say(f"{self.folder} is there already")
                return
            shutil.rmtree(self.folder, ignore_errors=True)
            say(f"building {self.folder}")
            self._build(say)
            write_json(self.folder / _MARK, {"pins": self.pins.name, "packages": self._frozen()})
            say(f"{self.folder} is ready")

    def _build(self, say: Callable[[str], None]) -> None:
        log = self.folder / "install.log"
        self.folder.mkdir(parents=True)
        _call([sys.executable, "-m", "venv", str(self.folder)], log)
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        torch = _TORCH[self.name]
        say(f"installing {', '.join(torch)}")
        _call([*pip, "--constraint", str(self.pins), *torch], log)
        n_pins = sum("==" in line for line in self.pins.read_text().splitlines())
        say(f"installing {n_pins} pinned packages")
        _call([*pip, "--no-deps", "--requirement", str(self.pins)], log)

    def _frozen(self) -> dict[str, str]:
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check"]
        listing = subprocess.run(
            [*pip, "list", "--format=freeze"],
            check=True,
            capture_output=True,
            text=True,
            env=_own_variables(),
        )
        pairs = (line.partition("==") for line in listing.stdout.splitlines() if "==" in line)
        return {name.lower(): version for name, _, version in pairs}


def pins_directory() -> Path:
    """The folder with the pins: the installed package's, or the checkout's."""
    package = Path(__file__).parents[2]
    folders = (package / "external", package.parent / "external")
    return next(folder for folder in folders if (folder / ENVIRONMENTS[0] / "cpu.txt").exists())


def _call(command: Sequence[str], log: Path) -> None:
    with log.open("ab") as stream:
        ended = subprocess.run(
            command, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL, env=_own_variables()
        )
    if ended.returncode != 0:
        last = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
        raise ExternalError(
            f"{' '.join(command[:6])} ... ended with {ended.returncode}; its last words, from "
            f"{log}:\n{last}"
        )


def _own_variables() -> dict[str, str]:
    """The environment variables without those that add packages from other places."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}


@contextmanager
def one_at_a_time(folder: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a folder in the cache; other processes wait, and say so."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is building it: waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
