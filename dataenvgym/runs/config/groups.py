"""The groups of the configuration, and the options of each: files, rows of tables, named classes.

    task=gsm8k                the file task/gsm8k.yaml, ours, of a package or in --config-dir
    agent=random              the row `random` of agent/_options.yaml, for options of a few lines
    agent/engine=gold         a class with the entry point "gold = ..." of dataenvgym.engines
    agent=my_module.MyAgent   the class MyAgent of my_module, from the current folder or installed

Our own classes have entry points, too. A name is data: its class is imported when it is used. A
class without a name is the option `custom` with this class. Groups without entry points, such as
`student`, take no classes. A file hides a row of its name, and a row hides a class.

Values that several options of a group share are in a base, whose name begins with an underscore. It
is not an option: others name it first in their `defaults`, and their own values override it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.registration import config_directory

ENTRY_POINTS = {
    "agent": "dataenvgym.agents",
    "agent/engine": "dataenvgym.engines",
    "agent/policy": "dataenvgym.policies",
    "environment": "dataenvgym.environments",
    "executor": "dataenvgym.studies.executors",
    "predictor": "dataenvgym.students.predictors",
    "quality": "dataenvgym.agents.quality",
    "skills": "dataenvgym.agents.skills",
    "skills/embedder": "dataenvgym.embedders",
    "task": "dataenvgym.tasks",
    "teacher": "dataenvgym.teachers",
    "trainer": "dataenvgym.students.trainers",
}
"""The groups that take classes, and the entry points with their names."""


@dataclass(frozen=True)
class Named:
    """An option that is not a file.

    Attributes:
        content: what its file would have.
        about: its description; "" if a comment of its table or the docstring of its class has it.
        table: the file with its row, and the name there.
        is_ours: False for a class of another package.
    """

    content: dict[str, Any]
    about: str = ""
    table: tuple[Path, str] | None = None
    is_ours: bool = True


Source = Path | Named
_TABLE = "_options"


def options_by_group(config_dir: str | Path | None = None) -> dict[str, dict[str, Source]]:
    """For each group ("agent", "agent/policy", ...), its options."""
    return {
        group: {name: source for name, source in sources.items() if not is_base(name)}
        for group, sources in sources_by_group(config_dir).items()
        if not any(map(is_base, group.split("/")))
    }


def sources_by_group(config_dir: str | Path | None = None) -> dict[str, dict[str, Source]]:
    """For each group, its options and bases."""
    groups = {group: {**classes} for group, classes in _classes(tuple(sys.path)).items()}
    files: list[tuple[str, str, Path]] = []
    for folder in config_folders(config_dir):
        for file in yaml_files(folder):
            group, _, name = file.removeprefix(f"{folder}/").removesuffix(".yaml").rpartition("/")
            if group.startswith("task/"):  # a suite of tasks: task=teach/traps
                group, name = "task", f"{group.removeprefix('task/')}/{name}"
            if name == _TABLE:
                for row, content in content_of(Path(file)).items():
                    named = Named(content, table=(Path(file), row))
                    groups.setdefault(group, {})[row] = named
            elif group:
                files.append((group, name, Path(file)))
    for group, name, path in files:
        groups.setdefault(group, {})[name] = path
    return groups


@lru_cache(maxsize=8)
def _classes(path: tuple[str, ...]) -> dict[str, dict[str, Source]]:
    """By group, `custom` and the classes with entry points on this `sys.path`; ours win."""
    found = entry_points()
    classes: dict[str, dict[str, Source]] = {}
    for group, entries in ENTRY_POINTS.items():
        place = group.replace("/", ".") + ".checks.custom" * (group == "quality")
        about = f"Your own class: {group}=my_module.MyClass, its arguments as +{place}.NAME=VALUE"
        classes[group] = {"custom": Named(_content(group, "custom", "???"), about)}
        points = [(p.value.startswith("dataenvgym."), p) for p in found.select(group=entries)]
        for is_ours, point in sorted(points, key=lambda each: (each[0], each[1].name)):
            package = "an installed package" if point.dist is None else point.dist.name
            target = point.value.replace(":", ".")
            about = "" if is_ours else f"From {package}: {target}"
            made = Named(_content(group, point.name, target), about, is_ours=is_ours)
            classes[group][point.name] = made
    return classes


def _content(group: str, name: str, target: str) -> dict[str, Any]:
    """The content of the option that is this class."""
    made: dict[str, Any] = {"_target_": target}
    if group == "quality":
        return {"checks": {name: made}}
    return {"defaults": ["custom", "_self_"], **made} if group == "agent" else made


def config_folders(config_dir: str | Path | None) -> list[Path]:
    """The folders with YAML files: ours, those of installed packages, the user's."""
    if config_dir is None:
        return [config_directory(), *_folders_of_packages()]
    folder = Path(config_dir).expanduser().absolute()
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {str(folder)!r} with configurations")
    return [config_directory(), *_folders_of_packages(), folder]


@cache
def _folders_of_packages() -> tuple[Path, ...]:
    """The folders that packages name by entry points `dataenvgym.configs`.

    The value of an entry point is the package that is the folder, such as `my_package.configs`.
    """
    found = []
    for point in sorted(entry_points(group="dataenvgym.configs"), key=lambda point: point.name):
        spec = find_spec(point.value)
        assert spec is not None and spec.submodule_search_locations, point  # noqa: PT018
        found.append(Path(spec.submodule_search_locations[0]))
    return tuple(found)


def yaml_files(folder: Path) -> list[str]:
    """The paths of all YAML files in the folder, sorted; this is faster than `Path.rglob`."""
    files = (f"{place}/{name}" for place, _, names in os.walk(folder) for name in names)
    return sorted((f for f in files if f.endswith(".yaml")), key=lambda f: f.split("/"))


def is_base(name: str) -> bool:
    """True if an option of this name is a base."""
    return name.startswith("_")


def content_of(source: Source) -> dict[str, Any]:
    """The plain values of an option, not to be changed: a file is parsed until it changes.

    Raises:
        ConfigurationError: names the file, if it has no options by name.
    """
    if isinstance(source, Named):
        return source.content
    stat = os.stat(source)
    return _parsed(source, stat.st_mtime_ns, stat.st_size)


def content_of_option(group: str, name: str, options: Mapping[str, Source]) -> dict[str, Any]:
    """Copy the plain values of an option.

    Raises:
        ConfigurationError: if there is no such option; as `content_of`.
    """
    if name not in options:
        raise ConfigurationError(
            f"there is no {group}={name}.{did_you_mean(name, options)} `dataenvgym list {group}` "
            "shows all"
        )
    return {str(key): value for key, value in content_of(options[name]).items()}


@lru_cache(maxsize=1024)
def _parsed(file: Path, *state: int) -> dict[str, Any]:
    try:
        content: Any = OmegaConf.to_container(OmegaConf.load(file))
    except (yaml.YAMLError, OmegaConfBaseException, OSError) as error:
        raise ConfigurationError(f"{file}: {' '.join(str(error).split())}") from error
    is_table = file.stem == _TABLE
    if not isinstance(content, dict) or (
        is_table and not all(isinstance(row, dict) for row in content.values())
    ):
        raise ConfigurationError(f"{file}: expected options by name")
    return content


def read_with_bases(name: str, sources: Mapping[str, Source]) -> dict[str, Any]:
    """Read an option's values over those of its bases, all of them in `sources`.

    References are kept.
    """
    contents = [content_of(sources[each]) for each in layers(name, sources)]
    values: Any = OmegaConf.to_container(OmegaConf.merge({}, *contents))
    return {key: value for key, value in values.items() if key != "defaults"}


def layers(name: str, sources: Mapping[str, Source]) -> list[str]:
    """The names of the option's bases, outer ones first, then its own."""
    entries = content_of(sources[name]).get("defaults", ())
    bases = [entry.removesuffix("@_here_") for entry in entries if isinstance(entry, str)]
    known = [base for base in bases if is_base(base) and base in sources]  # `_self_` is not
    return [each for base in known for each in layers(base, sources)] + [name]
