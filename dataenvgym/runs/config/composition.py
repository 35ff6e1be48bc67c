"""Composes one configuration from the folder `configs/` and a list of overrides.

    compose(["agent=random", "episode.iterations=8", "seed=1"])

The overrides are Hydra's: `group=option`, `key=value`, `+key=value` for a new key, `~key` to
remove one. They take one path: parsed (`overrides`); the chosen options composed by Hydra; the
defaults of all classes filled in (`values`); the values applied; everything checked
against the types of the classes. What is wrong is a `ConfigurationError` with the first sentence
of the library that refused it, the override as typed, and the nearest known name.

Hydra needs about 70 ms to compose, and a command composes the same choices several times. So each
choice is composed once, until a file changes, and each caller gets a copy. Options that are not
files come from a source of ours on Hydra's search path, behind all folders.

What an experiment, or a base of it, sets for one agent only is an option of a group with its name:
the row `random` of `experiment/_dataenvgym_math/_options.yaml` is added to it with `agent=random`.

There are four ways to type `task.sources`:

    task.sources=a.jsonl                                one file for all splits
    task.sources={validation: a.jsonl, test: b.jsonl}   a file for each split; no other splits
    task.sources.test=b.jsonl                           another file for one split
    task.sources=test:b.jsonl                           the same; a shell expands {test:b,...} to it
"""

from __future__ import annotations

import copy
import os
import pickle
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from dataenvgym.errors import ConfigurationError, did_you_mean, need
from dataenvgym.events import without_secrets
from dataenvgym.runs.config.groups import (
    Named,
    Source,
    config_folders,
    content_of,
    content_of_option,
    layers,
    options_by_group,
    read_with_bases,
    sources_by_group,
    yaml_files,
)
from dataenvgym.runs.config.instantiation import section_target
from dataenvgym.runs.config.overrides import Override, new_speakers, parse_overrides
from dataenvgym.runs.config.values import check, fill, walk
from dataenvgym.tasks.source import SPLITS

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override as HydraOverride


def compose(
    overrides: Sequence[str] = (),
    *,
    config_dir: str | Path | None = None,
    name: str = "config",
    allow_missing: bool = False,
) -> DictConfig:
    """Compose the configuration for these overrides; interpolations are resolved when read.

    Args:
        overrides: Hydra's, e.g. "agent=random" or "environment.replay=200"; also
            "agent=my_module.MyAgent" (see `groups`).
        config_dir: a folder with more YAML files, organized like ours (`agent/mine.yaml`).
        name: the YAML file to begin with: "config", or "eval" for an evaluation.
        allow_missing: accept missing values (`???`) and dangling references, to show a
            configuration.

    Raises:
        ConfigurationError: for an unknown group, option or key, a value that the option does not
            take, or a missing value.
    """
    parsed = parse_overrides(overrides)
    choices, values = _choices(parsed, config_dir)
    presets = sources_by_group(config_dir)["experiment"]
    for preset in (o for o in choices if o.key == "experiment" and o.value):
        is_adaptation = "rest_em" in read_with_bases(str(preset.value), presets)
        if is_adaptation and name not in ("adapt", "continual"):
            way = f"dataenvgym config --of adapt {preset.text}"
            raise ConfigurationError(f"{preset.text} is for dataenvgym adapt, as is `{way}`")
    default, _ = _composed(tuple(choices), config_dir, name)
    targets = [o for o in values if o.key.endswith("._target_") and o.sign != "~"]
    if targets:
        _apply(default, targets)
        default = fill(default)
    config = copy.deepcopy(default)
    _apply(config, [o for o in values if o not in targets], known=[*options_by_group(config_dir)])
    if (named := new_speakers(parsed)) and config.task.get("_target_") is not None:
        options_for = getattr(section_target(config, "task"), "options_for", lambda _: ())
        typed = {o.key for o in values}
        _apply(config, [o for o in parse_overrides(options_for(named)) if o.key not in typed])
    if any(o.sign == "~" for o in values):  # an option that is left out has its class's default
        config = fill(config)
    if not allow_missing:
        try:
            check(config, _resolved(config, parsed), default)
        except ConfigurationError as error:
            chosen = [o.text for o in choices if o.key == "experiment"]  # with options of its own
            raise ConfigurationError(": ".join([*chosen, str(error)])) from error
    without_secrets(OmegaConf.to_container(config))  # registers those in the user's own files
    return config


def overlay(config: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """Copy a composed configuration with other values; groups cannot be chosen again.

    Args:
        overrides: as for `compose`, in the same grammar and with the same checks.

    Raises:
        ConfigurationError: as `compose`.
    """
    parsed = parse_overrides(overrides)
    changed = copy.deepcopy(config)
    OmegaConf.set_struct(changed, True)
    _apply(changed, parsed)
    check(changed, _resolved(changed, parsed), config)
    return changed


def chosen_options(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, name: str = "config"
) -> dict[str, str]:
    """The option of each group with these overrides, chosen or default; without any, the defaults.

    A group whose values go to another place has that place after an `@`: "prompt@skills.prompt".
    """
    choices, _ = _choices(parse_overrides(overrides), config_dir)
    return dict(_composed(tuple(choices), config_dir, name)[1])


def _choices(
    parsed: Sequence[Override], config_dir: str | Path | None
) -> tuple[list[Override], list[Override]]:
    """The overrides that choose options, which must be there, and those that set values."""
    groups = options_by_group(config_dir)
    choices = [o for o in parsed if o.key in groups]
    for choice in choices:
        if choice.value is not None:
            content_of_option(choice.key, choice.value, groups[choice.key])  # it is there
        elif "@" not in choice.text:
            raise ConfigurationError(f"{choice.text}: {choice.key} cannot be left out")
    return choices, [o for o in parsed if o.key not in groups]


@contextmanager
def _refusing(typed: str, key: str = "", known: Sequence[str] = ()) -> Iterator[None]:
    """Turn an error of Hydra or OmegaConf into ours."""
    from hydra.errors import HydraException

    try:
        yield
    except ConfigurationError:
        raise
    except (HydraException, OmegaConfBaseException, ValueError, TypeError) as error:
        raise _refused(error, typed, key, known) from error


def _refused(error: Exception, typed: str, key: str, known: Sequence[str]) -> ConfigurationError:
    """The first sentence of a library's error, what was typed, and the known name nearest to it."""
    reason = str(getattr(error, "msg", None) or error).strip().partition("\n")[0].rstrip(".")
    same = [name for name in known if re.split(r"[./]", name)[-1] == key]
    hint = "" if key in known else did_you_mean(key, same or known)
    return ConfigurationError(f"{typed}: {reason}.{hint}")


# --- Hydra composes the chosen options ---

_one_at_a_time = threading.Lock()  # Hydra keeps its state in a global
_GROUPS_OF_HYDRA = [
    "output", "launcher", "sweeper", "help", "hydra_help", "hydra_logging", "job_logging", "env",
]  # fmt: skip


def _composed(
    choices: tuple[Override, ...], config_dir: str | Path | None, name: str
) -> tuple[DictConfig, dict[str, str]]:
    """The configuration of these choices with the defaults of classes, and each group's option."""
    folders = config_folders(config_dir)
    stats = ((file, os.stat(file)) for folder in folders for file in yaml_files(folder))
    state = (*sys.path, *((file, stat.st_mtime_ns, stat.st_size) for file, stat in stats))
    config, options = _pickled(choices, config_dir, name, state)
    return pickle.loads(config), options


@lru_cache(maxsize=256)
def _pickled(
    choices: tuple[Override, ...],
    config_dir: str | Path | None,
    name: str,
    state: object,
    parts: tuple[str, ...] = (),
) -> tuple[bytes, dict[str, str]]:
    """As `_composed`; a pickle is copied faster than by `deepcopy`."""
    import hydra

    ours, *more = config_folders(config_dir)
    sources = sources_by_group(config_dir)
    chosen = {choice.key: str(choice.value) for choice in choices}
    if not parts and chosen.keys() >= {"experiment", "agent"}:  # else Hydra says which they are
        parts = _for_the_agent(chosen, sources)
    path = [*(f"file://{folder}" for folder in more), f"{_scheme_of_named()}://{config_dir or ''}"]
    texts = [o.text for o in choices] + list(parts)
    with (
        _one_at_a_time,
        _own_hydra(),
        _refusing(" ".join(texts) or "the configuration files"),
        hydra.initialize_config_dir(str(ours), job_name="dataenvgym", version_base="1.3"),
    ):
        texts += [f"~hydra/{group}" for group in _GROUPS_OF_HYDRA]  # to compose them takes a third
        texts.append(f"hydra.searchpath={path}")
        config = hydra.compose(name, texts, return_hydra_config=True)
    found = config.hydra.runtime.choices
    options = {str(group): str(found[group]) for group in found}
    if not parts and (parts := _for_the_agent(options, sources)):
        return _pickled(choices, config_dir, name, state, parts)
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


# --- values are applied to the result, as Hydra does ---


def _apply(config: DictConfig, overrides: Sequence[Override], known: Sequence[str] = ()) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    if not overrides:
        return
    parser, known = OverridesParser.create(), [*known, *keys_of(config)]
    for override in overrides:
        is_new = not override.sign and override.key not in known
        typed = f"{override.text} (a new one takes a plus: +{override.text})"
        with _refusing(typed if is_new else override.text, override.key, known):
            _lay(config, parser.parse_override(override.text))


def _lay(config: DictConfig, override: HydraOverride) -> None:
    key, value = override.key_or_group, override.value()
    if override.is_sweep_override() or override.package is not None:
        way = f"a list is {key}=[a,b], a text with ',' in it '{key}=\"a,b\"'"
        raise ValueError(f"several values are for `dataenvgym study`; {way}")
    section, _, name = key.rpartition(".")
    if override.is_delete():
        if section in ("", "episode") and OmegaConf.select(config, key) is not None:
            raise ValueError(f"{key} cannot be left out")
        with open_dict(config):
            del (OmegaConf.select(config, section) if section else config)[name]
        return
    added = override.is_add() or override.is_force_add()
    if key == _SOURCES or (section == _SOURCES and name in SPLITS):
        _set_source(config, name, value, added)
    else:
        OmegaConf.update(config, key, value, merge=True, force_add=added)


_SOURCES = "task.sources"
_OF_ONE_SPLIT = re.compile(rf"({'|'.join(SPLITS)}):\s*(\S.*)", re.DOTALL)


def _set_source(config: DictConfig, name: str, value: Any, added: bool) -> None:
    """Set the task's sources, or that of the split `name`.

    Hydra would merge sources of all splits into the existing ones, and refuse one of a single split
    if there are none.
    """
    if isinstance(value, list):
        raise ValueError(f"expected one source, or {_SOURCES}={{validation: a.jsonl, test: b}}")
    if isinstance(value, str) and (match := _OF_ONE_SPLIT.fullmatch(value)):
        name, value = match.groups()
    if name in SPLITS:
        sources: Any = OmegaConf.to_container(config.task).get("sources")  # type: ignore[union-attr]
        sources = None if sources == "???" else sources
        by_split = isinstance(sources, dict) and "dataset" not in sources
        before = sources if by_split else dict.fromkeys(SPLITS if sources else (), sources)
        value = {**before, name: value}
    OmegaConf.update(config, _SOURCES, value, merge=False, force_add=added)


def keys_of(config: DictConfig) -> list[str]:
    """The dotted keys of `config`, including sections."""
    return [key for key, _ in walk(OmegaConf.to_container(config)) if key]


def _resolved(config: DictConfig, overrides: Sequence[Override]) -> dict[str, Any]:
    """The plain values, without references.

    Raises:
        ConfigurationError: for a value that is missing or cannot be resolved. A variable that is
            not set is noted by `need`, and its name takes the place of its value.
    """
    while True:
        try:
            plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
            return cast(dict[str, Any], plain)
        except OmegaConfBaseException as error:
            key = str(error.full_key)
            typed = next((o.text for o in overrides if "${" in (o.value or "")), key)
            unknown = re.search(r"key '([^']*)' not found", str(error))
            refused = _refused(error, typed, unknown[1] if unknown else "", keys_of(config))
            if "Environment variable" not in str(error):
                raise refused from error
            need(refused)
            section, _, name = key.rpartition(".")
            raw: Any = OmegaConf.to_container(OmegaConf.select(config, section))
            text = re.sub(r"\$\{oc\.env:(\w+)\}", r"$\1", str(raw[name]))
            OmegaConf.update(config, key, text)
