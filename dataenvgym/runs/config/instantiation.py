"""Builds an object from a section of the configuration: calls its `_target_` with the other keys.

`build_section` builds the object; `check_protocol` checks its methods. If it cannot be built, a
ConfigurationError names the key.

The options of a section are checked against the annotations of their class before any object is
built: plain types (numbers, text, lists, options by name) and the bounds in them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from dataenvgym.errors import (
    ConfigurationError,
    UnsupportedStageError,
    did_you_mean,
    first_fault,
    need,
    said_better,
)
from dataenvgym.options import parameters_of
from dataenvgym.registration import import_own

_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "text",
    list: "a list",
    dict: "options by name",
    NoneType: "null",
}


def check_arguments(target: Callable[..., Any], arguments: Mapping[str, Any], key: str) -> None:
    """Refuse arguments that `target` does not take, by their keys in the configuration.

    Args:
        target: a class or a function; a pydantic model checks its fields itself.
        arguments: plain values, and objects, whose types are not checked.
        key: their section of the configuration.

    Raises:
        ConfigurationError: names the key and the expected value.
    """
    if isinstance(target, type) and issubclass(target, BaseModel):
        return
    hints, takes_others = _hints(target)
    for name, value in arguments.items():
        if name not in hints and not takes_others:
            its_name = getattr(target, "__qualname__", type(target).__qualname__)
            raise ConfigurationError(
                f"there is no option '{key}.{name}': {its_name} takes no {name!r}."
                f"{did_you_mean(name, hints)} It takes: {', '.join(hints) or 'nothing'}"
            )
        if not fits(value, hint := hints.get(name, Any)):
            found = "null" if value is None else repr(value)
            raise ConfigurationError(f"{key}.{name} is {found}, expected {named(hint)}")
        _check_bounds(value, hint, f"{key}.{name}")


_BEYOND = ("greater_than", "less_than", "literal_error", "too_short", "finite_number")


def _check_bounds(value: Any, hint: Any, key: str) -> None:
    """Refuse a plain value beyond the bounds in its type, such as `Annotated[int, Ge(1)]`."""
    try:
        TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        if any(fault["type"].startswith(_BEYOND) for fault in error.errors()):
            raise ConfigurationError(first_fault(error, key)) from error
    except (PydanticSchemaGenerationError, PydanticUserError):  # not a type of plain values
        pass


def takes_null(target: Callable[..., Any], name: str) -> bool:
    """Whether a class has an option of this name, also one in a group, that can be None."""
    hint = _hints(target)[0].get(name)
    return hint is not None and hint is not Any and fits(None, hint)


def _hints(target: Callable[..., Any]) -> tuple[dict[str, Any], bool]:
    """The annotation of each parameter (Any if unknown), and True if it takes others too."""
    parameters, takes_others = parameters_of(target)
    hints = {
        n: hint | None if default is None else hint for n, (default, hint) in parameters.items()
    }
    return hints, takes_others


def fits(value: Any, hint: Any) -> bool:
    """True if a value fits the annotation, or if that is unknown."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return fits(value, parts[0])
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return any(isinstance(value, type(part)) for part in parts)
    if not (value is None or isinstance(value, bool | int | float | str | list | dict)):
        return True
    kind = kind_of(origin or hint)
    if kind is None:
        return not (value is None and is_group(hint))
    if isinstance(value, bool):
        return kind is bool
    accepted: Any = {float: (int, float), Path: str}.get(kind, kind)
    if not isinstance(value, accepted):
        return False
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(fits(each, inner(kind, parts)) for each in values)


def is_group(hint: Any) -> bool:
    """True for a class of options: a dataclass or a model."""
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, BaseModel))


def kind_of(hint: Any) -> Any:
    """The plain type of an annotation, one of the keys of `_NAMES`; None for others."""
    if hint in _NAMES:
        return hint
    if hint is Mapping:
        return dict
    return list if hint in (tuple, set, frozenset, Sequence, Collection, Iterable, Set) else None


def inner(kind: Any, parts: tuple[Any, ...]) -> Any:
    """The annotation of each value in a list or a mapping; Any if they have several."""
    if kind is dict:
        return parts[1] if parts else Any
    return parts[0] if len(set(parts) - {Ellipsis}) == 1 else Any


def named(hint: Any) -> str:
    """The values that an annotation describes, such as "a whole number or null"."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return named(parts[0])
    if origin in (Union, UnionType):
        names = (name for part in parts for name in named(part).split(" or "))
        return " or ".join(dict.fromkeys(names))
    if origin is Literal:
        return " or ".join(map(repr, parts))
    kind = kind_of(origin or hint)
    return _NAMES.get(kind, getattr(hint, "__name__", str(hint)))


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
        raise ConfigurationError(
            f"{section} is a {type(thing).__name__}, which has no {', '.join(missing)}: expected "
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
        target = getattr(import_own(module_name), name)
    except (ImportError, SyntaxError, AttributeError) as error:
        lacks = ConfigurationError(f"{key} is {path!r}, which cannot be imported: {error}")
        is_there = not f"{module_name}.".startswith(f"{getattr(error, 'name', '')}.")
        if isinstance(error, ModuleNotFoundError) and is_there:
            need(lacks)
        raise lacks from error
    if not callable(target):
        raise ConfigurationError(
            f"{key} is {path!r}, which is of type {type(target).__name__}, expected a class"
        )
    return cast(Callable[..., Any], target)
