"""Limits what the `config.yaml` of a run or an evaluation may run on this machine.

A folder from somebody else is data. Its configuration may only name code, programs, servers and
environment variables that are also in the package's YAML files (or in the user's `--config-dir`).
Everything typed on the command line, or accepted with `--trust`, is the user's choice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from dataenvgym.config.class_defaults import filled
from dataenvgym.config.composition import files_by_group
from dataenvgym.config.overrides import Override
from dataenvgym.config.resolved import leaves
from dataenvgym.errors import ConfigurationError, RunDirectoryError

_TARGET = "_target_"
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_REFERENCE = re.compile(r"(?<!\\)(\\\\)*\$\{")  # after an odd number of backslashes: plain text
_PROGRAMS = ("command", "environment", "options", "extra", "deepspeed")
_SERVER = "which server is asked, with which key"
_SERVERS = ("base_url", "url", "headers", "variables", "api_key_variable", "api_key_header")
_POWERS = {
    **dict.fromkeys(_PROGRAMS, "which programs run"),
    **dict.fromkeys(_SERVERS, _SERVER),
    "sandbox": "how code is confined",
    "world": "code that is not dataenvgym's",
}
"""Options by which a configuration could run programs or reach servers, and their powers."""


def refuse_untrusted(
    config: DictConfig,
    sections: Sequence[str],
    file: Path,
    typed: Sequence[Override],
    *,
    config_dir: str | Path | None = None,
) -> None:
    """Refuse sections from the folder that name code, a program or a server.

    Args:
        sections: the sections of `config` that come from `file` and are built. Check them before
            typed values are applied, which imports the classes of their sections.
        typed: the overrides of the command line; what they replace is not checked.
        config_dir: a folder with the user's own YAML files.

    Raises:
        ConfigurationError: names the key, and says what to do.
    """
    keys = [override.key for override in typed]
    known = _of_the_package() if config_dir is None else _named_in(config_dir)
    values = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    for section in sections:
        for key, value in leaves(values[section], section):
            power = _power(key, value)
            is_typed = any(key == name or key.startswith(f"{name}.") for name in keys)
            if power is None or not value or is_typed:
                continue
            if (_end(key), value) not in known:
                raise ConfigurationError(
                    f"{key} is {value!r} in {file}, and a folder may not choose {power}. If you "
                    f"trust its author, add --trust, or type it yourself: {key}=..."
                )


def refuse_references(config: DictConfig, file: Path) -> None:
    """Refuse a saved configuration with references, such as `${oc.env:HOME}`.

    The package saves configurations without references.

    Raises:
        RunDirectoryError: names the key.
    """
    for key, value in leaves(OmegaConf.to_container(config)):
        if isinstance(value, str) and _REFERENCE.search(value):
            raise RunDirectoryError(
                f"{file}: {key} refers to another value or to an environment variable; dataenvgym "
                "saves plain values, and follows no references in a folder: write the value there"
            )


def _power(key: str, value: object) -> str | None:
    """Name what the option could run or reach; None for a harmless option.

    An address is a server under any key: `cache: redis://...` of a speaker, `where` of a store.
    """
    names = key.split(".")
    if names[-1] == _TARGET or (key == "task.name" and "/" in str(value)):  # task=inspect
        return "code that is not dataenvgym's"
    if (power := next((_POWERS[name] for name in names if name in _POWERS), None)) is not None:
        return power
    return _SERVER if isinstance(value, str) and _ADDRESS.match(value) else None


def _end(key: str) -> str:
    """The part of the key from the dangerous option on: trainer.environment.X -> environment.X."""
    names = key.split(".")
    if names[-1] == _TARGET:
        return _TARGET
    first = next((i for i, name in enumerate(names) if name in _POWERS), -1)
    return ".".join(names[first:])


@cache
def _of_the_package() -> list[tuple[str, Any]]:
    return _named_in(None)


def _named_in(config_dir: str | Path | None) -> list[tuple[str, Any]]:
    """The values with a power in the YAML files, by the end of their key."""
    files = [file for group in files_by_group(config_dir).values() for file in group.values()]
    return [
        (_end(key), value)
        for file in files
        for key, value in leaves(filled(OmegaConf.to_container(OmegaConf.load(file))))
        if _power(key, value) is not None
    ]
