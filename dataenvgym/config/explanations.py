"""Explains errors of Hydra and OmegaConf in terms of the user's overrides."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dataenvgym.config.overrides import Override

_NEEDED = re.compile(r"(?:Missing key|Key) '?([\w.]+)'?")


def is_foreign(error: BaseException) -> bool:
    """True for an exception of Hydra or OmegaConf."""
    return type(error).__module__.partition(".")[0] in ("hydra", "omegaconf")


def explain_missing(error: BaseException) -> str:
    """Explain an error of OmegaConf from a configuration that lacks a needed key."""
    key = getattr(error, "full_key", None)
    if not key and (match := _NEEDED.search(str(error))):
        key = match[1]
    first = " ".join(str(error).partition("\n")[0].split())
    reason = f"it lacks {key!r}, which is needed" if key else first
    return (
        f"the configuration cannot be used: {reason}. Leave out what removes or replaces it "
        "(~KEY, ++KEY=VALUE); `dataenvgym config` prints the whole configuration"
    )


def explain_laying(error: Exception, overrides: Sequence[Override]) -> str:
    """Explain why overrides cannot be parsed or applied."""
    from hydra.errors import OverrideParseException

    text = " ".join(str(error).split())
    if isinstance(error, OverrideParseException):
        return (
            f"{error.override!r} cannot be read: {text.partition(' See ')[0]}. A value with '=', "
            "',' or brackets in it goes into two kinds of quotes: 'KEY=\"VALUE\"'"
        )
    typed = " ".join(o.text for o in overrides) or "the configuration files"
    reason = text.split("Config search path")[0].split("full_key:")[0].strip(" .")
    return (
        f"{typed} does not fit the configuration: {reason}. `dataenvgym config` prints the whole "
        "configuration"
    )


def explain_yaml(error: Exception) -> str:
    """Explain which file is not valid YAML, and where."""
    return f"a file is not valid YAML: {' '.join(str(error).split())}"


def explain_reference(error: Exception, overrides: Sequence[Override]) -> str:
    """Explain why a reference (`${seed}`) cannot be resolved."""
    reason = str(getattr(error, "msg", None) or error).partition("\n")[0]
    key = str(getattr(error, "full_key", ""))
    typed = next((o for o in overrides if o.value and "${" in o.value), None)
    name = key if typed is None else typed.key
    if match := re.search(r"Environment variable '(\w+)' not found", reason):
        return (
            f"{name}: the environment variable {match[1]} is not set; set it, or give {name}=VALUE"
        )
    if match := re.search(r"Missing mandatory value: (\S+)", reason):
        return f"{match[1]} must be given, such as {match[1]}=VALUE: there is no default"
    where = key if typed is None else repr(typed.text)
    return f"{where} cannot be resolved ({reason}): give the value itself, {name}=VALUE"
