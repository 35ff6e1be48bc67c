"""Calls Hydra: composes the files of the chosen options, and applies values to the result.

Hydra needs about 70 ms to compose, and a command composes the same choices several times. So each
choice is composed once, until a file changes, and each caller gets a copy.

Options that are not files come from a source of ours on Hydra's search path, behind all folders.

What an experiment, or a base of it, sets for one agent only is an option of a group with its name:
the row `random` of `experiment/_dataenvgym_math/_options.yaml` is added to it with `agent=random`.

There are four ways to type `task.sources`:

    task.sources=a.jsonl                                one file for all splits
    task.sources={validation: a.jsonl, test: b.jsonl}   a file for each split; no other splits
    task.sources.test=b.jsonl                           another file for one split
    task.sources=test:b.jsonl                           the same; a shell expands {test:b,...} to it

Hydra would merge the second form into the task's existing sources, and refuse the third form if the
task has none. So these overrides are removed first, and applied after Hydra (`apply_sources`).
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from omegaconf import DictConfig, OmegaConf, open_dict

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.class_defaults import fill
from dataenvgym.runs.config.explanations import explaining
from dataenvgym.runs.config.groups import (
    Named,
    Source,
    config_folders,
    content_of,
    layers,
    sources_by_group,
    yaml_files,
)
from dataenvgym.runs.config.overrides import Override
from dataenvgym.tasks.source import SPLITS

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override as HydraOverride


_one_at_a_time = threading.Lock()  # Hydra keeps its state in a global
_GROUPS_OF_HYDRA = [
    "output", "launcher", "sweeper", "help", "hydra_help", "hydra_logging", "job_logging", "env",
]  # fmt: skip


def compose_files(
    choices: Sequence[Override], config_dir: str | Path | None = None, name: str = "config"
) -> tuple[DictConfig, dict[str, str]]:
    """Compose the chosen options; return the configuration and the option of each group.

    Args:
        choices: only overrides that choose options.
        config_dir: a folder with more YAML files, organized like ours.
        name: the YAML file to begin with.

    Raises:
        ConfigurationError: for choices that do not fit together.
    """
    folders = config_folders(config_dir)
    stats = ((file, os.stat(file)) for folder in folders for file in yaml_files(folder))
    state = (*sys.path, *((file, stat.st_mtime_ns, stat.st_size) for file, stat in stats))
    config, options = _composed(tuple(choices), config_dir, name, state)
    return pickle.loads(config), dict(options)


def apply_values(config: DictConfig, overrides: Sequence[Override]) -> None:
    """Change values in the configuration as Hydra does.

    Raises:
        ConfigurationError: for a value that cannot be parsed or applied.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    with explaining(overrides):
        parser = OverridesParser.create()
        for override in parser.parse_overrides([o.text for o in overrides]):
            _lay(config, override)


@lru_cache(maxsize=256)
def _composed(
    choices: tuple[Override, ...],
    config_dir: str | Path | None,
    name: str,
    state: object,
    parts: tuple[str, ...] = (),
) -> tuple[bytes, dict[str, str]]:
    """The pickled configuration, which is copied faster than by `deepcopy`, and the options."""
    import hydra

    ours, *more = config_folders(config_dir)
    sources = sources_by_group(config_dir)
    chosen = {choice.key: str(choice.value) for choice in choices}
    if not parts and chosen.keys() >= {"experiment", "agent"}:  # else Hydra says which they are
        parts = _for_the_agent(chosen, sources)
    path = [*(f"file://{folder}" for folder in more), f"{_scheme_of_named()}://{config_dir or ''}"]
    texts = [o.text for o in choices] + list(parts)
    texts += [f"~hydra/{group}" for group in _GROUPS_OF_HYDRA]  # to compose them takes a third
    texts.append(f"hydra.searchpath={path}")
    with (
        _one_at_a_time,
        _own_hydra(),
        explaining(choices),
        hydra.initialize_config_dir(str(ours), job_name="dataenvgym", version_base="1.3"),
    ):
        config = hydra.compose(name, texts, return_hydra_config=True)
    found = config.hydra.runtime.choices
    options = {str(group): str(found[group]) for group in found}
    if not parts and (parts := _for_the_agent(options, sources)):
        return _composed(choices, config_dir, name, state, parts)
    with open_dict(config):
        del config["hydra"]
    filled = pickle.dumps(fill(config))
    return filled, {g: option for g, option in options.items() if not g.startswith("hydra/")}


def _for_the_agent(
    options: Mapping[str, str], sources: Mapping[str, Mapping[str, Source]]
) -> tuple[str, ...]:
    """Hydra's overrides that add what the chosen experiment sets for the chosen agent."""
    experiment, agent = options.get("experiment", "none"), options.get("agent")
    files = sources["experiment"]
    return tuple(
        f"+experiment/{layer}@_global_={agent}"
        for layer in (layers(experiment, files) if experiment in files else ())
        if agent in sources.get(f"experiment/{layer}", ())
    )


@contextmanager
def _own_hydra() -> Iterator[None]:
    """Isolate our use of Hydra from a Hydra application that calls us."""
    from hydra.core.global_hydra import GlobalHydra

    hydra = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = hydra


@cache
def _scheme_of_named() -> str:
    """Register a source of Hydra's with options that are not files; its path is a `config_dir`."""
    from hydra.core.object_type import ObjectType
    from hydra.core.plugins import Plugins
    from hydra.plugins.config_source import ConfigResult, ConfigSource

    class NamedOptions(ConfigSource):
        def __init__(self, provider: str, path: str) -> None:
            super().__init__(provider, path)
            self.groups = sources_by_group(self.path or None)

        def __deepcopy__(self, memo: object) -> Self:
            return self

        @staticmethod
        def scheme() -> str:
            return "options"

        def available(self) -> bool:
            return True

        def load_config(self, config_path: str) -> ConfigResult:
            group, _, name = config_path.removesuffix(".yaml").rpartition("/")
            config = OmegaConf.create(content_of(self.groups[group][name]))
            return ConfigResult(self.provider, config_path, config, {"package": None})

        def is_group(self, config_path: str) -> bool:
            return config_path in self.groups

        def is_config(self, config_path: str) -> bool:
            group, _, name = config_path.removesuffix(".yaml").rpartition("/")
            return isinstance(self.groups.get(group, {}).get(name), Named)

        def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
            return sorted(self.groups.get(config_path, ()))

    Plugins.instance().register(NamedOptions)
    return NamedOptions.scheme()


def _lay(config: DictConfig, override: HydraOverride) -> None:
    key = override.key_or_group
    if override.is_sweep_override() or override.package is not None:
        raise ConfigurationError(
            f"Ambiguous value: {override.input_line!r} is not a single value. Several values are "
            f"for a study (`dataenvgym study`). A list is {key}=[a,b]; a text with ',' in it "
            "goes into two kinds of quotes: 'key=\"value\"'"
        )
    if override.is_delete():
        parent, _, name = key.rpartition(".")
        section = OmegaConf.select(config, parent) if parent else config
        with open_dict(section):
            del section[name]
        return
    value = override.value()
    _refuse_part_of_value(config, key)
    added = override.is_add() or override.is_force_add()
    OmegaConf.update(config, key, value, merge=True, force_add=added)


def _refuse_part_of_value(config: DictConfig, key: str) -> None:
    """Refuse `seed.x`, where `seed` is a number: it would vanish."""
    names = key.split(".")
    for n in range(1, len(names)):
        above = OmegaConf.select(config, ".".join(names[:n]), throw_on_missing=False)
        if above is not None and not OmegaConf.is_config(above):
            raise ConfigurationError(
                f"{'.'.join(names[:n])} is {above!r}, a value without parts, so {key!r} cannot be "
                f"set: give the value itself, {'.'.join(names[:n])}=VALUE"
            )


KEY = "task.sources"
_OF_ONE_SPLIT = re.compile(rf"({'|'.join(SPLITS)}):\s*(\S.*)", re.DOTALL)


def is_source(override: Override, config: DictConfig) -> bool:
    """True if the override changes the task's sources, as a whole or for one split."""
    names = (KEY, *(f"{KEY}.{split}" for split in SPLITS))
    has_sources = "task" in config and "sources" in config.task.keys()  # noqa: SIM118 - also if ???
    return has_sources and override.key in names and override.sign != "~"


def apply_sources(config: DictConfig, overrides: Sequence[Override]) -> None:
    """Apply these overrides to `config.task.sources`, in order."""
    if not overrides:
        return
    section: Any = OmegaConf.to_container(config.task)
    sources = None if OmegaConf.is_missing(config.task, "sources") else section["sources"]
    with explaining(overrides):
        for override in overrides:
            sources = _changed(sources, override)
    OmegaConf.update(config, KEY, sources, merge=False)


def _changed(sources: Any, override: Override) -> Any:
    value = _value(override)
    split = override.key.removeprefix(KEY).removeprefix(".")
    if not split and isinstance(value, str) and (match := _OF_ONE_SPLIT.fullmatch(value)):
        split, value = match.groups()
    if not split:
        return value
    by_split = isinstance(sources, dict) and "dataset" not in sources
    before = sources if by_split else dict.fromkeys(SPLITS if sources else (), sources)
    return {**before, split: value}


def _value(override: Override) -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    (parsed,) = OverridesParser.create().parse_overrides([override.text])
    value = parsed.value()
    if parsed.is_sweep_override() or isinstance(value, list):
        raise ConfigurationError(
            f"{override.text!r} names several sources, expected one, or one for each split, such "
            f"as '{KEY}={{validation: a.jsonl, test: b.jsonl}}'. A path with a comma goes into two "
            f"kinds of quotes: '{KEY}=\"a,b.jsonl\"'"
        )
    return value
