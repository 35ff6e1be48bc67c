"""Explains errors of Hydra and OmegaConf in terms of the user's overrides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from omegaconf.errors import OmegaConfBaseException

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.runs.config.overrides import Override


def is_foreign(error: BaseException) -> bool:
    """True for an exception of Hydra or OmegaConf."""
    return type(error).__module__.partition(".")[0] in ("hydra", "omegaconf")


def explain_missing(error: BaseException) -> str:
    """Explain an error of OmegaConf from a configuration that lacks a needed key."""
    reason = " ".join(str(error).partition("\n")[0].split())
    key = getattr(error, "full_key", None)
    return (
        f"the configuration cannot be used: {reason}{f' ({key})' if key else ''}. Leave out what "
        "removes or replaces it (~KEY, ++KEY=VALUE)"
    )


@contextmanager
def explaining(overrides: Sequence[Override]) -> Iterator[None]:
    """Turn errors of Hydra and OmegaConf into ours, about the user's overrides."""
    import yaml
    from hydra.errors import HydraException

    try:
        yield
    except ConfigurationError:
        raise
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"not valid YAML: {reason}") from error
    except (HydraException, OmegaConfBaseException, ValueError) as error:
        raise ConfigurationError(explain_laying(error, overrides)) from error


def explain_laying(error: Exception, overrides: Sequence[Override]) -> str:
    """Explain why overrides cannot be parsed or applied."""
    from hydra.errors import OverrideParseException

    if isinstance(error, OverrideParseException):
        key, reason = str(error.override).partition("=")[0], str(error).partition("\n")[0]
        return (
            f"{error.override!r} cannot be read: {reason}. A text with '=', ',' or brackets in it "
            f"goes into two kinds of quotes: '{key}=\"TEXT\"'"
        )
    typed = " ".join(o.text for o in overrides) or "the configuration files"
    reason = re.split("Config search path|full_key:", " ".join(str(error).split()))[0].strip()
    return f"{typed} does not fit the configuration: {reason}. `dataenvgym config` prints it"


def explain_reference(error: Exception, overrides: Sequence[Override], known: Iterable[str]) -> str:
    """Explain why a reference (`${seed}`) cannot be resolved among the known keys."""
    reason = str(getattr(error, "msg", None) or error).partition("\n")[0]
    key = str(getattr(error, "full_key", ""))
    typed = next((o for o in overrides if o.value and "${" in o.value), None)
    where = key if typed is None else repr(typed.text)
    if match := re.search(r"Environment variable '(\w+)' not found", reason):
        name = key if typed is None else typed.key
        return (
            f"{name}: the environment variable {match[1]} is not set; set it, or give {name}=VALUE"
        )
    if match := re.search(r"Missing mandatory value: (\S+)", reason):
        return f"{match[1]} must be given, such as {match[1]}=VALUE: there is no default"
    unknown = re.match(r"Interpolation key '([^']*)' not found", reason)
    meant = did_you_mean(unknown[1], known) if unknown else ""
    reason = reason.removeprefix("Interpolation ")
    return f"{where} cannot be worked out: {reason}.{meant} Give the value itself, {key}=VALUE"
