"""What is found by its name: the environments, the modules of users, the shipped YAML files.

The environments are registered with gymnasium when dataenvgym is imported. A domain, ours or that
of an installed package, names its task environments as entry points of the group
`dataenvgym.task_environments`: `"me/Echo-v0" = "my_package.echo:make_default"`. They are strings,
so their modules are imported only by `gymnasium.make`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium

from dataenvgym.errors import ConfigurationError

TEACHING_ENVIRONMENTS = {
    "dataenvgym/OpenEnded-v0": ("dataenvgym.runs.config:make_open_ended", "OpenEnded"),
    "dataenvgym/SkillList-v0": ("dataenvgym.runs.config:make_skill_list", "SkillList"),
    "dataenvgym/SkillTree-v0": ("dataenvgym.runs.config:make_skill_tree", "SkillTree"),
}
"""By id: the function that fills in defaults, and the class in `dataenvgym.environments`."""
MAX_ITERATIONS = 5
"""Steps of a teaching episode, the same as the default of `episode.iterations`."""


def names_in(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that imports its names at first use.

    The names are those of the package's imports for type checkers (`if TYPE_CHECKING`).
    """

    @cache
    def modules() -> dict[str, str]:
        text = Path(str(sys.modules[package].__file__)).read_text()
        found = re.findall(r"from (dataenvgym\.\S+) import (\([^)]*\)|.*)", text)
        return {name: module for module, some in found for name in re.findall(r"\w+", some)}

    def __getattr__(name: str) -> Any:
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules()[name]), name)

    return __getattr__


def task_environments() -> dict[str, str]:
    """The task environments of all installed domains: ids, and the functions that make them."""
    found = entry_points(group="dataenvgym.task_environments")
    return {point.name: point.value for point in sorted(found, key=lambda point: point.name)}


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for name, entry_point in task_environments().items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
    for name, (entry_point, _) in TEACHING_ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point, max_episode_steps=MAX_ITERATIONS)


def import_own(name: str) -> ModuleType:
    """Import a module that a user names, such as `my_module` in `agent=my_module.MyAgent`.

    The current folder is searched after all installed packages, and only once a name needs it. So a
    file beside a received run, such as `gmpy2.py`, is not imported where a library looks for an
    optional module.

    Raises:
        ImportError: as `importlib.import_module`.
    """
    top, here = name.partition(".")[0], os.getcwd()
    is_found = top in sys.modules or find_spec(top) is not None
    if not is_found and PathFinder.find_spec(top, [here]) is not None:
        sys.path.append(here)  # for good: the module may import its neighbors later
    return import_module(name)


def config_directory() -> Path:
    """The folder with the YAML files: the installed package's, or the checkout's."""
    package = Path(__file__).parent
    for folder in (package / "configs", package.parent / "configs"):
        if (folder / "config.yaml").exists():
            return folder
    raise ConfigurationError(
        f"there is no folder 'configs' in {package} or beside it; install dataenvgym again"
    )
