"""The user's installed package tau2, and its data folder.

The package needs Python 3.12 or newer, and imports much (litellm, pandas); this module imports it
only when a task needs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.storage import read_json

DATA_DIR = "TAU2_DATA_DIR"
_INSTALL = (
    "install it from its repository, with Python 3.12 or newer: "
    "git clone https://github.com/sierra-research/tau2-bench && pip install -e tau2-bench"
)
_OTHER = (
    "dataenvgym works with Sierra's tau2-bench, from 1.0 on; a fork of another shape needs a world "
    f"of its own (docs/tool_use_worlds.md), or {_INSTALL}"
)
_METHODS = (
    "get_db_hash", "get_policy", "get_response", "get_tools", "get_user_db_hash", "make_tool_call",
    "run_env_function_call", "set_state", "sync_tools",
)  # fmt: skip
"""Of an environment, which `Tau2World` needs."""


@dataclass(frozen=True)
class Tau2Package:
    """One domain of the installed package.

    Attributes:
        domain: its name.
        environment: makes a new environment of the domain.
        data: the data folder, which contains `tau2/domains`.
    """

    domain: str
    environment: Any
    data: Path

    @property
    def tasks_place(self) -> Path:
        """The file with the domain's tasks, or a folder with a file for each (`task_*.json`)."""
        folder = self.data / "tau2" / "domains" / self.domain
        found = folder / "tasks"
        return found if any(found.glob("task_*.json")) else folder / "tasks.json"

    @property
    def splits_file(self) -> Path:
        """The file that assigns tasks to splits; it may be missing."""
        return self.tasks_place.with_name("split_tasks.json")

    def tasks(self) -> Any:
        """The domain's tasks, as JSON.

        Raises:
            ConfigurationError: if there are none.
            BrokenFileError: if a file is not JSON.
        """
        if self.tasks_place.is_dir():
            return [self.read(path) for path in sorted(self.tasks_place.glob("task_*.json"))]
        return self.read(self.tasks_place)

    def read(self, path: Path) -> Any:
        """The JSON in one of its files.

        Raises:
            ConfigurationError: if the file does not exist.
            BrokenFileError: if it is not JSON.
        """
        return read_json(self._existing(path))

    def guidelines(self, *, tools: bool) -> str:
        """tau2's instructions for a model that plays the user, with tools of its own or without.

        Raises:
            ConfigurationError: if the file does not exist.
        """
        name = "simulation_guidelines_tools.md" if tools else "simulation_guidelines.md"
        path = self._existing(self.data / "tau2" / "user_simulator" / name)
        return path.read_text(encoding="utf-8").replace("<PERSONA_GUIDELINES>", "").strip()

    def _existing(self, path: Path) -> Path:
        if not path.is_file():
            raise ConfigurationError(
                f"tau2's data folder {self.data} has no file {path.relative_to(self.data)}: set "
                f"{DATA_DIR} (or task.data_dir) to the folder `data` of a whole checkout"
            )
        return path


def load_package(
    domain: str, data_dir: str | Path | None = None, options: Mapping[str, Any] | None = None
) -> Tau2Package:
    """Import the modules for one domain.

    Args:
        options: arguments of the domain's `get_environment`.
        data_dir: the data folder; None uses `TAU2_DATA_DIR`, or else the folder next to the
            package's sources.

    Raises:
        ConfigurationError: if the domain, the package or the data folder does not exist, or if
            another package has that name.
    """
    check_one_of(_installed_domains(), domain=domain)
    wanted = data_dir or os.environ.get(DATA_DIR)
    if wanted:
        _check_folder(Path(wanted))
    if data_dir and "tau2.utils" not in sys.modules:
        os.environ[DATA_DIR] = str(Path(data_dir).expanduser().absolute())  # read on import
    try:
        with suppress(ImportError):  # keeps the package from logging each call
            importlib.import_module("loguru").logger.disable("tau2")
        module = importlib.import_module(f"tau2.domains.{domain}.environment")
        data = Path(importlib.import_module("tau2.utils").DATA_DIR)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"tau2's domain {domain!r} cannot be imported: {type(error).__name__}: {error}; "
            f"{_INSTALL}"
        ) from error
    make = getattr(module, "get_environment", None)
    if not callable(make):
        raise ConfigurationError(f"{module.__name__} has no function get_environment. {_OTHER}")
    _check_folder(data)
    if wanted and not data.samefile(Path(wanted).expanduser()):
        raise ConfigurationError(
            f"the data folder is {wanted}, and this process has already imported tau2 with {data}:"
            f" set {DATA_DIR} before it starts, and use one folder in one process"
        )
    try:
        environment = make(**(options or {}))
    except OSError as error:
        raise ConfigurationError(
            f"tau2's domain {domain!r} misses a file of its data: {error}; set {DATA_DIR} (or "
            "task.data_dir) to the folder `data` of a whole checkout"
        ) from error
    except Exception as error:  # the package's own code may raise anything
        given = ", ".join(f"{name}={value!r}" for name, value in (options or {}).items())
        raise ConfigurationError(
            f"{module.__name__}.get_environment({given}) raises {type(error).__name__}: {error}; "
            f"its arguments are task.domain_options. {_OTHER}"
        ) from error
    for name in _METHODS:
        if not hasattr(environment, name):
            raise ConfigurationError(
                f"tau2's domain {domain!r} has an environment ({type(environment).__name__}) "
                f"without {name!r}. {_OTHER}"
            )
    return Tau2Package(domain, environment, data)


def _installed_domains() -> list[str]:
    """The names of all domains of the installed package.

    Raises:
        ConfigurationError: if there is no package, or it is not of Sierra's shape.
    """
    spec = importlib.util.find_spec("tau2")
    if spec is None:
        raise ConfigurationError(
            f"Sierra's package tau2 is not installed in {sys.executable} (Python "
            f"{sys.version_info.major}.{sys.version_info.minor}); {_INSTALL}"
        )
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not any((folder / "registry.py").is_file() for folder in folders):
        raise ConfigurationError(
            f"the installed package tau2 ({spec.origin or folders}) has no tau2.registry: it is not"
            " Sierra's benchmark. On PyPI, tau2 is something else (magnetic relaxation rates). "
            f"Remove it (pip uninstall tau2), and {_INSTALL}"
        )
    found = sorted({p.parent.name for f in folders for p in f.glob("domains/*/environment.py")})
    if not found:
        raise ConfigurationError(f"{folders[0]} has no domains/NAME/environment.py. {_OTHER}")
    return found


def _check_folder(data: Path) -> None:
    if not (data.expanduser() / "tau2" / "domains").is_dir():
        raise ConfigurationError(
            f"tau2's data folder is {data}, which has no folder tau2/domains: set {DATA_DIR} (or "
            "task.data_dir) to the folder `data` of a checkout of "
            "https://github.com/sierra-research/tau2-bench"
        )
