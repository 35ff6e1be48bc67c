"""Composes one configuration from the folder `configs/` and a list of overrides.

    compose(["agent=random", "episode.iterations=8", "seed=1"])

The overrides are Hydra's: `group=option`, `key=value`, `+key=value` for a new key, `~key` to
remove one. Any error in them is a `ConfigurationError` that lists the existing options.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from dataenvgym.errors import ConfigurationError, need
from dataenvgym.events import keep_secrets_of, without_secrets
from dataenvgym.runs.config.class_defaults import fill
from dataenvgym.runs.config.explanations import explain_reference
from dataenvgym.runs.config.groups import (
    checked,
    content_of,
    layers,
    options_by_group,
    sources_by_group,
    with_own_classes,
)
from dataenvgym.runs.config.hydra_files import (
    apply_sources,
    apply_values,
    compose_files,
    is_source,
)
from dataenvgym.runs.config.instantiation import section_target
from dataenvgym.runs.config.overrides import (
    Override,
    check_choices,
    check_keys,
    check_values,
    keys_of,
    new_speakers,
    parse_overrides,
)
from dataenvgym.runs.config.resolved import leaves


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
        ConfigurationError: for an unknown group, option or key, a value of another type than the
            one it replaces, or a missing value.
    """
    for override in overrides:
        keep_secrets_of(override)
    groups = options_by_group(config_dir)
    parsed = with_own_classes(parse_overrides(overrides), groups)
    check_choices(parsed, groups)
    choices = [o for o in parsed if o.key in groups]
    if suite := next((o.text for o in choices if o.key == "suite"), None):
        raise ConfigurationError(
            f"{suite} names several tasks, for a study or for evaluations: dataenvgym study "
            f"{suite}, or dataenvgym eval {suite}"
        )
    for choice in choices:
        if isinstance(file := groups[choice.key].get(choice.value or ""), Path):
            checked(file)
    _check_experiment(parsed, config_dir, name)
    default, _ = compose_files(choices, config_dir, name)
    if targets := [o for o in parsed if o.key.endswith("._target_") and o.sign != "~"]:
        apply_values(default, targets)
        default = fill(default)
    sources = [o for o in parsed if is_source(o, default)]
    parsed = [o for o in parsed if o not in sources]
    check_keys(parsed, default, groups)
    config = copy.deepcopy(default)
    apply_values(config, [o for o in parsed if o.key not in groups])
    if (named := new_speakers(parsed)) and config.task.get("_target_") is not None:
        options_for = getattr(section_target(config, "task"), "options_for", lambda _: ())
        typed = {o.key for o in parsed}
        apply_values(config, [o for o in parse_overrides(options_for(named)) if o.key not in typed])
    apply_sources(config, sources)
    if any(o.sign == "~" for o in parsed):  # an option that is left out has its class's default
        config = fill(config)
    if not allow_missing:
        _check_resolvable(config, parsed)
    check_values([o for o in parsed if o.key not in groups], config, default)
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
    sources = [o for o in parsed if is_source(o, config)]
    parsed = [o for o in parsed if o not in sources]
    check_keys(parsed, config)
    changed = copy.deepcopy(config)
    apply_values(changed, parsed)
    apply_sources(changed, sources)
    _check_resolvable(changed, parsed)
    check_values(parsed, changed, config)
    return changed


def chosen_options(
    overrides: Sequence[str] = (), config_dir: str | Path | None = None, name: str = "config"
) -> dict[str, str]:
    """The option of each group with these overrides, chosen or default; without any, the defaults.

    A group whose values go to another place has that place after an `@`: "prompt@skills.prompt".
    """
    groups = options_by_group(config_dir)
    parsed = with_own_classes(parse_overrides(overrides), groups)
    choices = [o for o in parsed if o.key in groups]
    return compose_files(choices, config_dir, name)[1]


def _check_experiment(
    overrides: Sequence[Override], config_dir: str | Path | None, name: str
) -> None:
    """Refuse an experiment that is written for another command or another task."""
    chosen = {o.key: o.value for o in overrides if o.key in ("experiment", "task")}
    experiment, task = chosen.get("experiment"), chosen.get("task")
    if experiment is None:
        return
    files = sources_by_group(config_dir)["experiment"]
    contents = [content_of(files[layer]) for layer in layers(experiment, files)]
    if name not in ("adapt", "continual") and any("rest_em" in each for each in contents):
        raise ConfigurationError(
            f"experiment={experiment} is for another command: dataenvgym adapt "
            f"experiment={experiment} (dataenvgym config --of adapt experiment={experiment} shows "
            "its options)"
        )
    if task is None:
        return
    entries = [e for each in contents for e in each.get("defaults", ()) if isinstance(e, dict)]
    own = next((e["override /task"] for e in entries if "override /task" in e), None)
    options = dict.fromkeys(key for each in contents for key in each.get("task") or ())
    if own in (None, task) or not options:
        return
    raise ConfigurationError(
        f"experiment={experiment} is written for task={own}, whose options it sets "
        f"({', '.join(options)}), and not for task={task}: leave out task=..., or leave out the "
        "experiment and choose the options that you want from it"
    )


def _check_resolvable(config: DictConfig, overrides: Sequence[Override]) -> None:
    while True:
        try:
            # to look for missing keys takes longer than to see that no value is missing
            plain = OmegaConf.to_container(config)
            missing = sorted(OmegaConf.missing_keys(config)) if "'???'" in repr(plain) else []
            if not missing:
                OmegaConf.to_container(config, resolve=True)
            break
        except OmegaConfBaseException as error:
            explained = ConfigurationError(explain_reference(error, overrides, keys_of(config)))
            if "Environment variable" not in str(error):
                raise explained from error
            need(explained)
            _write_out(config, str(error.full_key))
    if missing:
        raise ConfigurationError(
            f"{', '.join(missing)} must be given, such as {missing[0]}=VALUE: there is no default"
        )
    for key, value in leaves(plain):
        if isinstance(value, int) and not -(2**63) <= value < 2**63:  # files and hashes store less
            raise ConfigurationError(
                f"{key} is {value}, expected a whole number of 64 bits at most"
            )


def _write_out(config: DictConfig, key: str) -> None:
    """Put the name of an environment variable in place of its value, which is not there."""
    section, _, name = key.rpartition(".")
    plain: Any = OmegaConf.to_container(OmegaConf.select(config, section))
    OmegaConf.update(config, key, re.sub(r"\$\{oc\.env:(\w+)\}", r"$\1", str(plain[name])))
