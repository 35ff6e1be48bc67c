"""Checks the options of a section against the annotations of their class.

Options that the class does not take, and values of the wrong plain type, are refused before any
object is built. Only annotations with plain types are checked (numbers, text, lists, options by
name, also in unions); the class itself checks everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.options import parameters_of

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
    kind = _kind(origin or hint)
    if kind is None:
        is_group = isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, BaseModel))
        return not (value is None and is_group)
    if isinstance(value, bool):
        return kind is bool
    accepted: Any = {float: (int, float), Path: str}.get(kind, kind)
    if not isinstance(value, accepted):
        return False
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(fits(each, _inner(kind, parts)) for each in inner)


def _kind(hint: Any) -> Any:
    """The plain type of an annotation, one of the keys of `_NAMES`; None for others."""
    if hint in _NAMES:
        return hint
    if hint is Mapping:
        return dict
    return list if hint in (tuple, set, frozenset, Sequence, Collection, Iterable, Set) else None


def _inner(kind: Any, parts: tuple[Any, ...]) -> Any:
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
    kind = _kind(origin or hint)
    return _NAMES.get(kind, getattr(hint, "__name__", str(hint)))
