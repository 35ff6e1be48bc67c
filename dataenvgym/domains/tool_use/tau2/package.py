"""The user's installed package tau2, and its data folder.

The package needs Python 3.12 or newer, and imports much (litellm, pandas); this module imports it
only when a task needs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dataenvgym.errors import ConfigurationError, check_one_of
from dataenvgym.storage import read_json
from dataenvgym.tasks.rows import SourceRow

_NEEDS = (
    "the task needs Sierra's tau2-bench, from 1.0 on, from its repository (the package tau2 of the "
    "package index is another one), with Python 3.12 or newer: git clone "
    "https://github.com/sierra-research/tau2-bench && pip install -e tau2-bench && export "
    "TAU2_DATA_DIR=$PWD/tau2-bench/data"
)
_METHODS = (
    "get_db_hash", "get_policy", "get_response", "get_tools", "get_user_db_hash", "make_tool_call",
    "run_env_function_call", "set_state", "sync_tools",
)  # fmt: skip
"""Of an environment, which `Tau2World` needs."""


class Tau2Package:
    """One domain of the installed package.

    Args:
        domain: its name.
        options: arguments of the domain's `get_environment`.

    Attributes:
        environment: a new environment of the domain.
        data: the data folder, which contains `tau2/domains`.

    Raises:
        ConfigurationError: if the domain, the package or the data folder does not exist, or if
            the package has another shape.
    """

    def __init__(self, domain: str, options: Mapping[str, Any] | None = None) -> None:
        spec = importlib.util.find_spec("tau2")
        folders = [Path(f) for f in (spec and spec.submodule_search_locations) or ()]
        known = sorted({p.parent.name for f in folders for p in f.glob("domains/*/environment.py")})
        if not known:
            found = f"{folders[0]} has no domains/NAME/environment.py" if folders else "no tau2"
            raise ConfigurationError(f"{found} in {sys.executable}: {_NEEDS}")
        check_one_of(known, domain=domain)
        try:
            with suppress(ImportError):  # keeps the package from logging each call
                importlib.import_module("loguru").logger.disable("tau2")
            module = importlib.import_module(f"tau2.domains.{domain}.environment")
            self.data = Path(importlib.import_module("tau2.utils").DATA_DIR)
            self.environment = module.get_environment(**(options or {}))
            for name in _METHODS:
                getattr(self.environment, name)
        except Exception as error:  # the package's own code may raise anything
            raise ConfigurationError(
                f"tau2's domain {domain!r}, with the options {dict(options or {})}: "
                f"{type(error).__name__}: {error}; {_NEEDS}"
            ) from error
        self.domain = domain
        self._folder = self.data / "tau2" / "domains" / domain

    def rows(self) -> list[SourceRow]:
        """The domain's tasks: those of one file, or of a file for each (`task_*.json`)."""
        files = sorted(self._folder.glob("tasks/task_*.json"))
        rows = []
        for path in files or [self._existing(self._folder / "tasks.json")]:
            found: Any = read_json(path)
            tasks = found.get("tasks", [found]) if isinstance(found, dict) else found
            for number, task in enumerate(tasks):
                id = str(task.get("id", number))
                rows.append(SourceRow(id, f"{path} (task {id!r})", task))
        return rows

    def splits(self) -> dict[str, list[str]]:
        """The ids of tasks by tau2's splits; none if the domain has no such file."""
        path = self._folder / "split_tasks.json"
        return read_json(path) if path.is_file() else {}

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
            raise ConfigurationError(f"there is no {path}; {_NEEDS}")
        return path
