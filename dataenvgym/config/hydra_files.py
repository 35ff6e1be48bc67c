"""Calls Hydra: composes the files of the chosen options, and applies values to the result.

Hydra needs about 50 ms to compose, and a command composes the same choices several times. So each
choice is composed once, until a file changes, and each caller gets a copy.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dataenvgym.config.explanations import explain_laying, explain_yaml
from dataenvgym.config.overrides import Override
from dataenvgym.errors import ConfigurationError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override as HydraOverride
    from omegaconf import DictConfig

_one_at_a_time = threading.Lock()  # Hydra keeps its state in a global


def compose_files(
    choices: Sequence[Override], folders: Sequence[Path], name: str = "config"
) -> tuple[DictConfig, dict[str, str]]:
    """Compose the chosen options; return the configuration and the option of each group.

    Args:
        choices: only overrides that choose options.
        folders: our folder of YAML files, then others organized like it.
        name: the YAML file to begin with.

    Raises:
        ConfigurationError: for choices that do not fit together.
    """
    config, options = _composed(tuple(choices), tuple(folders), name, _state_of(folders))
    with _one_at_a_time:  # OmegaConf changes its source while it copies
        return copy.deepcopy(config), dict(options)


def lay_values(config: DictConfig, overrides: Sequence[Override]) -> None:
    """Change values in the configuration as Hydra does.

    Raises:
        ConfigurationError: for a value that cannot be parsed or applied.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    with explaining(overrides):
        parser = OverridesParser.create()
        for override in parser.parse_overrides([o.text for o in overrides]):
            _lay(config, override)


@contextmanager
def explaining(overrides: Sequence[Override]) -> Iterator[None]:
    """Turn errors of Hydra and OmegaConf into ours, about the user's overrides."""
    import yaml
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        yield
    except ConfigurationError:
        raise
    except yaml.YAMLError as error:
        raise ConfigurationError(explain_yaml(error)) from error
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigurationError(explain_laying(error, overrides)) from error


def _state_of(folders: Sequence[Path]) -> tuple[tuple[Path, int, int], ...]:
    """A value that changes when a YAML file is added, removed or written."""
    files = sorted(file for folder in folders for file in folder.rglob("*.yaml"))
    found = ((file, file.stat()) for file in files)
    return tuple((file, state.st_mtime_ns, state.st_size) for file, state in found)


@lru_cache(maxsize=64)
def _composed(
    choices: tuple[Override, ...], folders: tuple[Path, ...], name: str, _state: object
) -> tuple[DictConfig, dict[str, str]]:
    import hydra
    from omegaconf import open_dict

    ours, *more = folders
    texts = [o.text for o in choices]
    texts += [f"hydra.searchpath=['file://{folder}']" for folder in more]
    with (
        _one_at_a_time,
        _own_hydra(),
        explaining(choices),
        hydra.initialize_config_dir(str(ours), job_name="dataenvgym", version_base="1.3"),
    ):
        config = hydra.compose(name, texts, return_hydra_config=True)
    found = config.hydra.runtime.choices
    options = {str(group): str(found[group]) for group in found}
    with open_dict(config):
        del config["hydra"]
    return config, {g: option for g, option in options.items() if not g.startswith("hydra/")}


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


def _lay(config: DictConfig, override: HydraOverride) -> None:
    from omegaconf import DictConfig, OmegaConf, open_dict

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
    extends = override.is_force_add() or isinstance(value, dict | list)
    if override.is_add() and not extends and OmegaConf.select(config, key) is not None:
        raise ConfigurationError(f"{key!r} already has a value; drop the plus: {key}=...")
    _refuse_part_of_value(config, key)
    if isinstance(value, list) and isinstance(OmegaConf.select(config, key), DictConfig):
        raise ConfigurationError(
            f"{key} is a list, {value!r}, expected options by name: '{key}={{NAME: VALUE}}', or "
            f"{key}.NAME=VALUE for one of them"
        )
    added = override.is_add() or override.is_force_add()
    OmegaConf.update(config, key, value, merge=True, force_add=added)


def _refuse_part_of_value(config: DictConfig, key: str) -> None:
    """Refuse `seed.x`, where `seed` is a number: it would vanish."""
    from omegaconf import OmegaConf

    names = key.split(".")
    for n in range(1, len(names)):
        above = OmegaConf.select(config, ".".join(names[:n]), throw_on_missing=False)
        if above is not None and not OmegaConf.is_config(above):
            raise ConfigurationError(
                f"{'.'.join(names[:n])} is {above!r}, a value without parts, so {key!r} cannot be "
                f"set: give the value itself, {'.'.join(names[:n])}=VALUE"
            )
