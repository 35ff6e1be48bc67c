"""Builds an object from a section of the configuration: calls its `_target_` with the other keys.

If it cannot be built, a ConfigurationError names the key.

The options of a section are checked against the annotations of their class before any object is
built: plain types (numbers, text, lists, options by name) and the bounds in them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic_core import SchemaError

from dataenvgym.errors import (
    ConfigurationError,
    UnsupportedStageError,
    did_you_mean,
    first_fault,
    need,
    shorten,
)
from dataenvgym.options import parameters_of
from dataenvgym.registration import import_own


def check_arguments(
    target: Callable[..., Any],
    arguments: Mapping[str, Any],
    key: str,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Refuse arguments that `target` does not take, by their keys in the configuration.

    Args:
        target: a class or a function.
        arguments: plain values, and objects, which are not checked.
        key: their section of the configuration.
        keys: other keys of some of them.

    Raises:
        ConfigurationError: names the key and the expected value.
    """
    parameters, takes_others = parameters_of(target)
    for name, value in arguments.items():
        path = (keys or {}).get(name, f"{key}.{name}")
        if name not in parameters and not takes_others:
            raise ConfigurationError(
                f"there is no option '{key}.{name}': {_name(target)} takes no {name!r}."
                f"{did_you_mean(name, parameters)}"
            )
        default, hint = parameters.get(name, (None, Any))
        check_value(value, hint if default is not None else hint | None, path)


def check_value(value: Any, hint: Any, key: str) -> None:
    """Refuse a plain value that is not of this type; a section with a class is made first."""
    if (error := _fault(value, hint)) is None:
        return
    first, path, found = error.errors(include_url=False)[0], [key], value
    for part in first["loc"][1:]:
        inside = dict(enumerate(found)) if isinstance(found, list) else found
        if isinstance(inside, dict) and part in inside:  # else it is a member of a union
            path.append(str(part))
            found = inside[part]
    shown = "null" if found is None else shorten(repr(found))
    raise ConfigurationError(f"{'.'.join(path)} is {shown}: {first['msg']}")


def fits(value: Any, hint: Any) -> bool:
    """True if a plain value is of this type, or if that is known only when it is built."""
    return _fault(value, hint) is None


def _fault(value: Any, hint: Any) -> ValidationError | None:
    adapter = _adapter(hint)
    if adapter is None:
        return None
    try:
        text = json.dumps([value])
    except (TypeError, ValueError):  # it holds an object
        return None
    if '"_target_"' in text:
        return None
    try:  # in JSON, where a list may become a tuple, and a text a path
        adapter.validate_json(text, strict=True)
    except ValidationError as error:
        kinds = {each["type"] for each in error.errors(include_url=False)}
        return None if "needs_python_object" in kinds else error  # of a class
    return None


@cache
def _adapter(hint: Any) -> TypeAdapter[Any] | None:
    """Checks a list with one value of this type; None if pydantic cannot know its values."""
    try:
        return TypeAdapter(tuple[hint], config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticSchemaGenerationError, PydanticUserError, SchemaError):
        return None


def build_section(config: DictConfig, section: str, **given: Any) -> Any:
    """Build the object of `config[section]`: call its `_target_` with the other keys.

    Inner sections with a `_target_` are built first. Every class also gets the `given` objects that
    it has a parameter for, unless its section sets them.
    """
    return build_value(OmegaConf.to_container(config[section], resolve=True), section, given)


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
    with making(key, target, arguments):
        return target(**arguments)


@contextmanager
def making(key: str, target: Callable[..., Any], arguments: Mapping[str, Any]) -> Iterator[None]:
    """Turn the errors of an object that cannot be made into ours, and put the key before them."""
    try:
        yield
    except (ConfigurationError, UnsupportedStageError) as error:
        option = re.match(r"(\w+)(\.\w+)* is ", str(error))
        if option and option[1] in parameters_of(target)[0]:  # "limits.disk is -1, expected ..."
            error.args = (f"{key}.{error}",)
        raise
    except ValidationError as error:
        loc = error.errors()[0]["loc"]  # of the arguments, or of what one of them has by name
        inside = (n for n, v in arguments.items() if loc and isinstance(v, Mapping) and loc[0] in v)
        path = ".".join([key, *islice(inside, 1)])
        raise ConfigurationError(first_fault(error, path)) from error
    except TypeError as error:
        why = str(error).partition("\n")[0]
        raise ConfigurationError(f"{key}: {_name(target)} cannot be made: {why}") from error


def section_target(config: DictConfig, section: str) -> Callable[..., Any]:
    """The class (or function) that `config[section]._target_` names."""
    return imported(config[section].get("_target_"), f"{section}._target_")


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
