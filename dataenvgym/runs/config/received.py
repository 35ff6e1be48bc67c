"""What the `config.yaml` of a received folder may choose: data, by an allow list.

A folder is received if no command of this user wrote its configuration (`workspace.is_own`). Its
options may have the values of the package's YAML files and of its classes, and others only where
that is harmless by the type of the option: numbers, true and false, the names of a `Literal`, and
text that is marked as `PlainText`. All else could be a path, a server, a program, a module or a
variable: only the user can choose it, on the command line, in `--config-dir`, or by `--trust`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError
from dataenvgym.options import hints_of, marks, parameters_of
from dataenvgym.runs.config.groups import read_with_bases, sources_by_group
from dataenvgym.runs.config.instantiation import fits, imported
from dataenvgym.runs.config.overrides import Override
from dataenvgym.runs.config.values import class_options, leaves
from dataenvgym.workspace import is_own

_Value = tuple[str, Any]
_Known = set[_Value]
_Shipped = dict[str | None, _Known]
_NUMBERS = bool | int | float
_JUDGE = "dataenvgym.tasks.judging.RubricJudge"
_SETTINGS = ("metrics", "split", "adapter", "problems")
"""Texts of an evaluation that are compared or parsed, and build nothing."""


def refuse_untrusted(
    config: DictConfig,
    sections: Sequence[str],
    file: Path,
    typed: Sequence[Override],
    *,
    config_dir: str | Path | None = None,
) -> None:
    """Refuse sections from a received folder with values that are not harmless.

    Args:
        sections: the sections of `config` that come from `file` and are built. Check them before
            typed values are applied, which imports the classes of their sections.
        typed: the overrides of the command line; what they replace is not checked.
        config_dir: a folder with the user's own YAML files.

    Raises:
        ConfigurationError: names the keys, and says what to do.
    """
    if is_own(file.parent):
        return
    values = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    refused = [
        (key, value)
        for section in sections
        if section not in _SETTINGS
        for key, value in foreign(section, config, values[section], config_dir)
        if not any(key == o.key or key.startswith(f"{o.key}.") for o in typed)
    ]
    if refused:
        found = ", ".join(f"{key} is {str(value)[:80]!r}" for key, value in refused[:5])
        more = f" (and {len(refused) - 5} more)" if len(refused) > 5 else ""
        raise ConfigurationError(
            f"{found}{more} in {file}, and a folder may not choose what could be a path, a server, "
            "a program or code. If you trust its author, add --trust, or type it yourself: "
            f"{refused[0][0]}=..."
        )


def foreign(
    section: str, config: DictConfig, value: Any, config_dir: str | Path | None
) -> Iterator[_Value]:
    """The keys and values of a section that a received folder may not choose."""
    shipped = _shipped(section, config, config_dir)
    if section == "judge":
        value = {"_target_": _JUDGE, **value}

    def values_of(target: str | None) -> _Known:
        defaults = {n: o.default for n, o in class_options({"_target_": target}).items()}
        return shipped.get(target, set()) | {*leaves(defaults)}

    def walk(value: Any, key: str, hint: Any, known: _Known, name: str) -> Iterator[_Value]:
        # `name`: the key in the innermost section with a class; `known`: what our files have there
        if isinstance(value, list):
            value = dict(enumerate(value))
        if not value and "." in name:  # such as {"--trust-remote-code": []}
            value = "" if isinstance(value, dict) else value
        if not isinstance(value, dict):
            is_set = value is not None and (name, value) not in known
            if is_set and not _is_harmless(value, hint):  # "" is a path, too
                yield key, value
            return
        hints = None
        if (target := value.get("_target_")) is not None:
            target, own = str(target), f"{name}." if name else ""
            known = {(k.removeprefix(own), v) for k, v in known if k.startswith(own)}
            if target in shipped or ("_target_", target) in known:
                known |= values_of(target)
                hints = {}
                with suppress(ConfigurationError):  # a class of the user's own, refused when built
                    hints = {n: of[1] for n, of in parameters_of(imported(target, key))[0].items()}
            else:
                yield f"{key}._target_", target
                hint, known = _NUMBERS, known.union(*map(values_of, shipped))
            name = ""
        for option, each in value.items():
            if option != "_target_":
                of = _inside(hint, option) if hints is None else hints.get(option)
                inner_name = f"{name}.{option}" if name else str(option)
                yield from walk(each, f"{key}.{option}", of, known, inner_name)

    yield from walk(value, section, _NUMBERS, shipped.get(None, set()), "")


def _shipped(section: str, config: DictConfig, config_dir: str | Path | None) -> _Shipped:
    """The values of YAML files for a section, by the class that the file names; None for none."""
    found: _Shipped = {None: set(), **({_JUDGE: set()} if section == "judge" else {})}
    trial = OmegaConf.create(cast(dict[str, Any], OmegaConf.to_container(config)))
    for content in (_ours() if config_dir is None else _contents(config_dir)).get(section, ()):
        values, is_tried = found.setdefault(content.get("_target_"), set()), False
        for key, value in leaves(content):
            if isinstance(value, str) and "${" in value:
                if not is_tried:
                    trial[section], is_tried = content, True
                with suppress(OmegaConfBaseException):  # a variable that is not set
                    value = OmegaConf.select(trial, f"{section}.{key}")
            values.add((key, value))
    return found


@cache
def _ours() -> dict[str, list[dict[str, Any]]]:
    return _contents(None)


def _contents(config_dir: str | Path | None) -> dict[str, list[dict[str, Any]]]:
    """The contents of YAML files and classes of ours for each section, also of experiments."""
    found: dict[str, list[dict[str, Any]]] = {}
    for group, files in sources_by_group(config_dir).items():
        section = group.partition("/")[0]
        ours = (name for name, option in files.items() if getattr(option, "is_ours", True))
        for content in (read_with_bases(option, files) for option in ours):
            for name, part in content.items() if section == "experiment" else ((section, content),):
                found.setdefault(name, []).extend([part] if isinstance(part, dict) else ())
    return found


def _is_harmless(value: Any, hint: Any) -> bool:
    """True if no value of this type that the annotation allows can do more than data."""
    origin, parts = get_origin(hint), get_args(hint)
    if "text" in marks(hint):
        return True
    if origin is Annotated:
        return _is_harmless(value, parts[0])
    if origin in (Union, UnionType):
        fitting = [part for part in parts if fits(value, part)]
        return bool(fitting) and all(_is_harmless(value, part) for part in fitting)
    is_number = hint in (bool, int, float) and fits(value, hint)
    return value in parts if origin is Literal else is_number


def _inside(hint: Any, name: str | int) -> Any:
    """The annotation of a value in a list, a mapping or a group; None if it is unknown."""
    origin, parts = get_origin(hint), get_args(hint)
    if "text" in marks(hint) or hint == _NUMBERS:
        return hint
    if origin is Annotated:
        return _inside(parts[0], name)
    if origin in (Union, UnionType):
        groups = [part for part in parts if _is_group(part)]  # a mapping has the same options
        found = [of for part in groups or parts if (of := _inside(part, name)) is not None]
        return Union[tuple(found)] if found else None  # noqa: UP007  made of a list
    if _is_group(hint):
        return hints_of(hint).get(str(name))
    if not isinstance(origin, type) or not issubclass(origin, Collection):
        return None
    inner = dict.fromkeys(parts[1:] if issubclass(origin, Mapping) else parts)
    return next(iter(inner)) if len({*inner} - {Ellipsis}) == 1 else None


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, BaseModel))
