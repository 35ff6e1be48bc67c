"""Limits of what the `config.yaml` of a run or an evaluation may make this machine do.

A folder that somebody sent is data. Its configuration may name the classes that the YAML files of
the package (or those in the user's own `--config-dir`) name, and no other code; no program, no
server and no environment variable but those that are there, too. Whatever was typed on the command
line, or comes with `--trust`, is the user's own choice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataenvgym.config.composition import files_by_group
from dataenvgym.config.overrides import Override
from dataenvgym.errors import ConfigurationError, RunDirectoryError

if TYPE_CHECKING:
    from omegaconf import DictConfig

_TARGET = "_target_"
_REFERENCE = re.compile(r"(?<!\\)(\\\\)*\$\{")  # with an odd number of backslashes it is a text
_PROGRAMS = ("command", "environment", "options", "extra", "deepspeed")
_SERVERS = ("base_url", "url", "headers", "variables", "api_key_variable", "api_key_header")
_POWERS = {
    **dict.fromkeys(_PROGRAMS, "what programs run"),
    **dict.fromkeys(_SERVERS, "which server is asked, with which key"),
    "sandbox": "how code is confined",
    "world": "code that is not dataenvgym's",
}
"""Options by which a configuration could run or reach something, and their values."""


def refuse_untrusted(
    config: DictConfig,
    sections: Sequence[str],
    file: Path,
    typed: Sequence[Override],
    *,
    config_dir: str | Path | None = None,
) -> None:
    """Refuse sections that come from the folder and name code, a program or a server.

    Args:
        sections: those of `config` that come from `file`, what was typed laid over.
        typed: the overrides of the command line.
        config_dir: a folder with the user's own YAML files.

    Raises:
        ConfigurationError: naming the key and the way out.
    """
    from omegaconf import OmegaConf

    keys = [override.key for override in typed]
    known = _known(config_dir)
    for section in sections:
        values = OmegaConf.to_container(config[section], resolve=True)
        for key, value in _leaves(values, section):
            power = _power(key)
            if power is None or not value or _covers(keys, key):
                continue
            if (_end(key), value) not in known:
                raise ConfigurationError(
                    f"{key} is {value!r} in {file}, and a folder may not choose {power}. If you "
                    f"trust its author, add --trust, or type it yourself: {key}=..."
                )


def refuse_references(config: DictConfig, file: Path) -> None:
    """Refuse a kept configuration in which something refers to anything, as `${oc.env:HOME}` does.

    Ours are kept resolved.

    Raises:
        RunDirectoryError: naming the key.
    """
    from omegaconf import OmegaConf

    for key, value in _leaves(OmegaConf.to_container(config), ""):
        if isinstance(value, str) and _REFERENCE.search(value):
            raise RunDirectoryError(
                f"{file}: {key} refers to another value or to an environment variable; dataenvgym "
                "keeps plain values, and follows no references in a folder: write the value there"
            )


def _power(key: str) -> str | None:
    """The program or host that the option could make us run or reach; None for a harmless one."""
    names = key.split(".")
    if names[-1] == _TARGET:
        return "code that is not dataenvgym's"
    return next((_POWERS[name] for name in names if name in _POWERS), None)


def _end(key: str) -> str:
    """The key from the option on that has the power: trainer.environment.X -> environment.X."""
    names = key.split(".")
    if names[-1] == _TARGET:
        return _TARGET
    first = next(i for i, name in enumerate(names) if name in _POWERS)
    return ".".join(names[first:])


def _covers(typed: Collection[str], key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in typed)


def _known(config_dir: str | Path | None) -> list[tuple[str, Any]]:
    """The names in the YAML files, by the same ends of keys."""
    return _of_the_package() if config_dir is None else _named_in(config_dir)


@cache
def _of_the_package() -> list[tuple[str, Any]]:
    return _named_in(None)


def _named_in(config_dir: str | Path | None) -> list[tuple[str, Any]]:
    from omegaconf import OmegaConf

    files = [file for group in files_by_group(config_dir).values() for file in group.values()]
    return [
        (_end(key), value)
        for file in files
        for key, value in _leaves(OmegaConf.to_container(OmegaConf.load(file)), "")
        if _power(key) is not None
    ]


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Plain values by dotted key; those in lists by their place."""
    if isinstance(value, dict):
        named = value.items()
    elif isinstance(value, list):
        named = dict(enumerate(value)).items()
    else:
        yield key, value
        return
    for name, part in named:
        yield from _leaves(part, f"{key}.{name}" if key else str(name))
