"""From the folder `configs/` and a list of overrides to one configuration.

    compose(["agent=random", "episode.iterations=8", "seed=1"])

The overrides are Hydra's: `group=option`, `key=value`, `+key=value` for a new key, `~key` to
remove one. Whatever is wrong with them is a `ConfigurationError` that says what there is instead.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dataenvgym.config.bases import is_base
from dataenvgym.config.experiments import check_experiment
from dataenvgym.config.overrides import (
    Override,
    check_choices,
    check_keys,
    check_values,
    parse_overrides,
)
from dataenvgym.config.own_classes import with_own_classes
from dataenvgym.config.source_overrides import is_source, lay_sources
from dataenvgym.errors import ConfigurationError
from dataenvgym.secrets import keep_secrets_of

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override as HydraOverride
    from omegaconf import DictConfig

_one_at_a_time = threading.Lock()  # Hydra keeps its state in a global


def config_directory() -> Path:
    """The folder with the YAML files: the installed package's, or the checkout's."""
    package = Path(__file__).parents[1]
    for folder in (package / "configs", package.parent / "configs"):
        if (folder / "config.yaml").exists():
            return folder
    raise ConfigurationError(
        f"there is no folder 'configs' in {package} or beside it; install dataenvgym again"
    )


def compose(
    overrides: Sequence[str] = (),
    *,
    config_dir: str | Path | None = None,
    name: str = "config",
    allow_missing: bool = False,
) -> DictConfig:
    """The configuration that the overrides ask for; interpolations resolve when they are read.

    Args:
        overrides: Hydra's, e.g. "agent=random" or "environment.replay=200"; also
            "agent=my_module.MyAgent" (see `own_classes`).
        config_dir: a folder with more YAML files, laid out like ours (`agent/mine.yaml`).
        name: the YAML file to begin with: "config", or "eval" for an evaluation.
        allow_missing: leave values that must be given (`???`), and references to what is not
            there, as they are; for looking at a configuration.

    Raises:
        ConfigurationError: for a group, option or key that there is not, for a value of another
            type than the one it replaces, and for a value that is still missing.
    """
    for override in overrides:
        keep_secrets_of(override)
    groups = options_by_group(config_dir)
    parsed = with_own_classes(parse_overrides(overrides), groups)
    check_choices(parsed, groups, ())
    check_experiment(parsed, groups)
    choices = [o for o in parsed if o.key in groups]
    default = _compose(choices, config_dir, name)
    sources = [o for o in parsed if is_source(o, default)]
    parsed = [o for o in parsed if o not in sources]
    check_keys(parsed, default, groups)
    config = _compose(parsed, config_dir, name) if len(choices) < len(parsed) else default
    _lay_sources(config, sources)
    if not allow_missing:
        _check_resolvable(config)
    check_values([o for o in parsed if o.key not in groups], config, default)
    return config


def overlay(config: DictConfig, overrides: Sequence[str]) -> DictConfig:
    """A copy of a composed configuration with other options; no group can be chosen in it.

    Args:
        overrides: as for `compose`, in the same grammar and with the same checks.

    Raises:
        ConfigurationError: as `compose`.
    """
    import copy

    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    parsed = parse_overrides(overrides)
    sources = [o for o in parsed if is_source(o, config)]
    parsed = [o for o in parsed if o not in sources]
    check_keys(parsed, config, ())
    changed = copy.deepcopy(config)
    try:
        for override in OverridesParser.create().parse_overrides([o.text for o in parsed]):
            _lay(changed, override)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigurationError(_explained(error, parsed)) from error
    _lay_sources(changed, sources)
    _check_resolvable(changed)
    check_values(parsed, changed, config)
    return changed


def options_by_group(config_dir: str | Path | None = None) -> dict[str, dict[str, Path]]:
    """For each group ("agent", "agent/policy", ...), the YAML file of each of its options."""
    groups = files_by_group(config_dir)
    return {
        group: {name: file for name, file in files.items() if not is_base(name)}
        for group, files in groups.items()
    }


def files_by_group(config_dir: str | Path | None = None) -> dict[str, dict[str, Path]]:
    """For each group, its YAML files by name: the options, and the bases that they share."""
    groups: dict[str, dict[str, Path]] = {}
    for folder in (config_directory(), *_own_folder(config_dir)):
        for file in sorted(folder.rglob("*.yaml")):
            group = file.parent.relative_to(folder).as_posix()
            if group != ".":
                groups.setdefault(group, {})[file.stem] = file
    return groups


def chosen_options(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None
) -> dict[str, str]:
    """The option of each group that these overrides choose or leave.

    A group whose values are put elsewhere has that place behind an `@`: "prompt@skills.prompt".
    """
    groups = options_by_group(config_dir)
    parsed = with_own_classes(parse_overrides(overrides), groups)
    choices = [o for o in parsed if o.key in groups]
    found = _compose(choices, config_dir, with_hydra=True).hydra.runtime.choices
    ours = {str(group): str(found[group]) for group in found}
    return {group: ours[group] for group in ours if not group.startswith("hydra/")}


def default_options() -> dict[str, str]:
    """The option of each group in the default configuration."""
    return chosen_options()


def _own_folder(config_dir: str | Path | None) -> list[Path]:
    if config_dir is None:
        return []
    folder = Path(config_dir).expanduser().absolute()
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {str(folder)!r} with configurations")
    return [folder]


def _compose(
    overrides: Sequence[Override],
    config_dir: str | Path | None,
    name: str = "config",
    *,
    with_hydra: bool = False,
) -> DictConfig:
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    texts = [o.text for o in overrides]
    texts += [f"hydra.searchpath=['file://{folder}']" for folder in _own_folder(config_dir)]
    with _one_at_a_time, _own_hydra():
        try:
            with hydra.initialize_config_dir(
                str(config_directory()), job_name="dataenvgym", version_base="1.3"
            ):
                return hydra.compose(name, texts, return_hydra_config=with_hydra)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise ConfigurationError(_explained(error, overrides)) from error


def _lay_sources(config: DictConfig, overrides: Sequence[Override]) -> None:
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        lay_sources(config, overrides)
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigurationError(_explained(error, overrides)) from error


def _lay(config: DictConfig, override: HydraOverride) -> None:
    """Change the configuration as Hydra does."""
    from omegaconf import OmegaConf, open_dict

    key = override.key_or_group
    if override.is_sweep_override() or override.package is not None:
        raise ConfigurationError(
            f"{override.input_line!r} is no single value: one with ',' in it goes into two kinds "
            "of quotes: 'key=\"value\"'"
        )
    if override.is_delete():
        parent, _, name = key.rpartition(".")
        section = OmegaConf.select(config, parent) if parent else config
        with open_dict(section):
            del section[name]
    else:
        added = override.is_add() or override.is_force_add()
        OmegaConf.update(config, key, override.value(), merge=True, force_add=added)


@contextmanager
def _own_hydra() -> Iterator[None]:
    """Compose without minding, or disturbing, a Hydra application that we are called from."""
    from hydra.core.global_hydra import GlobalHydra

    hydra = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = hydra


def _explained(error: Exception, overrides: Sequence[Override]) -> str:
    """The part of Hydra's message that is about what was typed, on one line."""
    from hydra.errors import OverrideParseException

    if isinstance(error, OverrideParseException):
        return (
            f"{error.override!r} cannot be read. A value with '=', ',' or brackets in it goes "
            "into two kinds of quotes: 'key=\"value\"'"
        )
    text = str(error)
    if match := re.match(r"Could not override '([^']+)'. No match in the defaults list", text):
        return f"{match[1]} has no place in this configuration: nothing in it uses {match[1]}"
    text = text.split("Config search path")[0].split("3. To sweep over it")[0]
    typed = " ".join(o.text for o in overrides)
    return f"{' '.join(text.split())} (in: {typed or 'the configuration files'})"


def _check_resolvable(config: DictConfig) -> None:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        missing = sorted(OmegaConf.missing_keys(config))
        if not missing:
            OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        reason = str(error.msg or error).partition("\n")[0]
        if match := re.search(r"Environment variable '(\w+)' not found", reason):
            reason = f"the environment variable {match[1]} is not set; set it"
        raise ConfigurationError(
            f"{error.full_key}: {reason}, or give {error.full_key}=VALUE"
        ) from error
    if missing:
        raise ConfigurationError(
            f"{', '.join(missing)} must be given, such as {missing[0]}=VALUE: there is no default"
        )
    _refuse_huge_numbers(OmegaConf.to_container(config))


def _refuse_huge_numbers(value: object, key: str = "") -> None:
    """The configuration goes into files and hashes that have whole numbers of 64 bits."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ConfigurationError(f"{key} is {value}, expected a whole number of 64 bits at most")
    named: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        named = value.items()
    elif isinstance(value, list):
        named = enumerate(value)
    for name, part in named:
        _refuse_huge_numbers(part, f"{key}.{name}" if key else str(name))
