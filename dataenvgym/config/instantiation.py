"""Builds an object from a section of the configuration: calls its `_target_` with the other keys.

`build_section` builds the object; `check_protocol` checks its methods. If it cannot be built, a
ConfigurationError names the key.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from pydantic import ValidationError

from dataenvgym.config.arguments import check_arguments
from dataenvgym.errors import (
    ConfigurationError,
    UnsupportedStageError,
    did_you_mean,
    first_fault,
    need,
    said_better,
)
from dataenvgym.own_modules import import_own

_OPTION = re.compile(r"(\w+)(\.\w+)* is ")
"""The beginning of an error about an option, such as "limits.disk is -1, expected ..."."""
_LINK = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:,[^}]*)?\}")
"""A value that is another option's."""


def build_section(config: DictConfig, section: str, **given: Any) -> Any:
    """Build the object of `config[section]`: call its `_target_` with the other keys.

    Inner sections with a `_target_` are built first. Every class also gets the `given` objects that
    it has a parameter for, unless its section sets them.
    """
    try:
        return build_value(OmegaConf.to_container(config[section], resolve=True), section, given)
    except (ConfigurationError, UnsupportedStageError) as error:
        key, _, rest = str(error).partition(" ")
        raw = OmegaConf.to_container(config[section])
        option = key.removeprefix(f"{section}.")
        link = _LINK.fullmatch(str(raw.get(option))) if isinstance(raw, dict) else None
        if link and OmegaConf.select(config, link[1]) is not None:
            raise type(error)(f"{link[1]} {rest}") from error  # where its value was set
        raise


def build_value(value: Any, key: str, given: Mapping[str, Any]) -> Any:
    """Build the object that a plain value of the configuration describes; errors name `key`."""
    if isinstance(value, list):
        return [build_value(item, f"{key}.{i}", given) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    arguments = {
        n: build_value(v, f"{key}.{n}", given) for n, v in value.items() if n != "_target_"
    }
    if "_target_" not in value:
        return arguments
    target = imported(value["_target_"], f"{key}._target_")
    parameters: Mapping[str, inspect.Parameter] = {}
    with suppress(ValueError):  # some classes written in C have no signature
        parameters = inspect.signature(target).parameters
    arguments = {**{n: given[n] for n in given if n in parameters}, **arguments}
    asked = parameters.get("teacher")
    if asked and asked.default is asked.empty and "teacher" not in arguments:
        raise ConfigurationError(
            f"{key}: {_name(target)} asks a teacher, and there is none: choose one, such as "
            "teacher=openai teacher.model=NAME (`dataenvgym list teacher` shows them)"
        )
    check_arguments(target, arguments, key)
    try:
        return target(**arguments)
    except (ConfigurationError, UnsupportedStageError) as error:
        option = _OPTION.match(str(error))
        if option and option[1] in arguments:
            raise said_better(error, type(error)(f"{key}.{error}")) from error
        raise
    except (TypeError, ValidationError) as error:
        if isinstance(error, TypeError):
            why = str(error).splitlines()[0]
        elif {*error.errors()[0]["loc"][:1]} & {*arguments}:
            raise ConfigurationError(first_fault(error, key)) from error
        else:
            why = first_fault(error)
        raise ConfigurationError(
            f"{key}: {target.__module__}.{_name(target)} cannot be made: {why}"
        ) from error


def section_target(config: DictConfig, section: str) -> Callable[..., Any]:
    """The class (or function) that `config[section]._target_` names."""
    return imported(config[section].get("_target_"), f"{section}._target_")


def check_protocol(thing: Any, protocol: type, section: str) -> Any:
    """Return `thing` if it has the methods of `protocol`; else raise a ConfigurationError."""
    if not isinstance(thing, protocol):
        known = sorted({*dir(protocol), *getattr(protocol, "__annotations__", {})})
        names = [n for n in known if n == "__call__" or not n.startswith("_")]
        missing = [n for n in names if not hasattr(thing, n)]
        kind = type(thing).__name__
        article = "an" if kind[0] in "aeiouAEIOU" else "a"
        raise ConfigurationError(
            f"{section} is {article} {kind}, which has no {', '.join(missing)}: expected "
            f"the methods of {protocol.__name__}, which are {', '.join(names)}"
        )
    return thing


def _name(target: Callable[..., Any]) -> str:
    """The name of a class or function; for another callable object, the name of its class."""
    return str(getattr(target, "__qualname__", type(target).__qualname__))


def imported(path: Any, key: str) -> Callable[..., Any]:
    """Import a class by its path; errors name `key`."""
    if not isinstance(path, str) or "." not in path:
        raise ConfigurationError(f"{key} is {path!r}, expected a class such as my_module.MyClass")
    module_name, _, name = path.rpartition(".")
    try:
        module = import_own(module_name)
    except ModuleNotFoundError as error:
        if f"{module_name}.".startswith(f"{error.name}."):
            raise ConfigurationError(
                f"{key} is {path!r}, but there is no module {error.name!r} in the current folder "
                "or among the installed packages"
            ) from error
        lacks = ConfigurationError(
            f"{key} is {path!r}, but {module_name} imports {error.name!r}, which is not installed"
        )
        need(lacks)
        raise lacks from error
    except SyntaxError as error:
        raise ConfigurationError(
            f"{key} is {path!r}, but {error.filename} is not valid Python: line {error.lineno}: "
            f"{error.msg}"
        ) from error
    if not hasattr(module, name):
        raise ConfigurationError(
            f"{key} is {path!r}, but {module_name} has no class {name!r}."
            f"{did_you_mean(name, vars(module))}"
        )
    if not callable(target := getattr(module, name)):
        raise ConfigurationError(
            f"{key} is {path!r}, which is of type {type(target).__name__}, expected a class"
        )
    return cast(Callable[..., Any], target)
