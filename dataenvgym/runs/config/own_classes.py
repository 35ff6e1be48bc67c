"""Options without YAML files: the user's own classes, and classes of installed packages.

    agent=my_module.MyAgent   the class MyAgent of my_module, from the current folder or installed
    agent=fancy               a class of an installed package with the entry point
                              "fancy = fancy_package:FancyAgent" in the group dataenvgym.agents

Both mean the group's option `custom` with the class as its `_target_`. Groups without `custom`,
such as `student`, accept no classes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from dataenvgym.events import warn_run
from dataenvgym.runs.config.overrides import Override

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
"""The groups with an option `custom`, and the entry-point group of each."""

_TARGET_KEYS = {"quality": "quality.checks.custom._target_"}
"""The key of the class for a group's `custom`, if it is not `GROUP._target_`."""

_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*[.:][^\W\d]\w*")


def offered(group: str) -> dict[str, EntryPoint]:
    """The classes that installed packages offer as options of a group, by name."""
    if group not in ENTRY_POINTS:
        return {}
    found = sorted(entry_points(group=ENTRY_POINTS[group]), key=lambda point: point.name)
    return {point.name: point for point in found}


def warn_of_changes(config: DictConfig, directory: Path) -> None:
    """Warn if a file of the user's own classes, in this folder, is newer than what it has made."""
    made = directory / "environment.json"
    if not made.exists():
        return
    modules = re.findall(r"_target_: (?!dataenvgym\.)([\w.]+)[.:]\w", OmegaConf.to_yaml(config))
    for file in (Path(*module.split(".")).with_suffix(".py") for module in dict.fromkeys(modules)):
        if file.exists() and file.stat().st_mtime > made.stat().st_mtime:
            again = "--fresh begins anew, and a study another --name"
            warn_run(f"{file} has changed since these results were begun: {again}")


def with_own_classes(
    overrides: Sequence[Override], groups: Mapping[str, Collection[str]]
) -> list[Override]:
    """Replace overrides that choose a class by `custom` and its `_target_`."""
    return [part for override in overrides for part in _resolved(override, groups)]


def _resolved(override: Override, groups: Mapping[str, Collection[str]]) -> list[Override]:
    key, value = override.key, (override.value or "").strip("'\"")
    if key not in ENTRY_POINTS or value in groups.get(key, ()):
        return [override]
    if not _CLASS.fullmatch(value):
        if (offer := offered(key).get(value)) is None:
            return [override]
        value = offer.value
    target = value.replace(":", ".")
    target_key = _TARGET_KEYS.get(key, f"{key.replace('/', '.')}._target_")
    return [
        Override(f"{override.sign}{key}=custom", override.sign, key, "custom"),
        Override(f"{target_key}={target}", "", target_key, target),
    ]
