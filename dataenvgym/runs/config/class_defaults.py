"""Fills sections of the configuration with the options of their classes, and checks them.

YAML files name a class and what differs from its defaults. The others are those of the class (see
`dataenvgym.options`), so a composed configuration has all values. A class of the user's own with a
constructor of its own is left as it is, unless it takes a group (`options.takes`): its options are
added with a plus.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any

from annotated_types import Ge, Lt
from omegaconf import DictConfig, OmegaConf
from pydantic import PositiveInt

from dataenvgym.errors import ConfigurationError
from dataenvgym.options import Option, options_of
from dataenvgym.registration import TEACHING_ENVIRONMENTS
from dataenvgym.runs.config.instantiation import check_arguments, check_value, imported
from dataenvgym.runs.config.resolved import literal


def fill(config: DictConfig) -> DictConfig:
    """Copy the configuration, with the defaults of all classes in it; references are kept."""
    made: DictConfig = OmegaConf.create(filled(OmegaConf.to_container(config)))
    OmegaConf.set_struct(made, OmegaConf.is_struct(config))
    return made


def filled(value: Any) -> Any:
    """The same plain values, with the defaults of all classes in them."""
    if isinstance(value, list):
        return [filled(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    defaults = {n: literal(option.default) for n, option in class_options(value).items()}
    first = {n: value[n] for n in ("id", "_target_") if n in value}
    return first | {n: filled(v) for n, v in _under(defaults, value).items() if n not in first}


def _under(defaults: Mapping[str, Any], value: Mapping[Any, Any]) -> dict[Any, Any]:
    """The values over the defaults; options of another class are not mixed."""
    merged = {**defaults, **value}
    for name, default in defaults.items():
        given = value.get(name)
        if isinstance(given, dict) and isinstance(default, dict):
            made_by = default.get("_target_")
            merged[name] = (
                _under(default, given) if given.get("_target_", made_by) == made_by else given
            )
    return merged


def class_options(section: Mapping[Any, Any], *, known: bool = False) -> Mapping[str, Option]:
    """The options of the class that a section names, as far as it is filled from them.

    Args:
        known: as for `class_of`.
    """
    return {} if (made := class_of(section, known=known)) is None else options_of(made)


def class_of(section: Mapping[Any, Any], *, known: bool = False) -> Callable[..., Any] | None:
    """The class that a section names, if the configuration has its options.

    Args:
        known: import no class that is not ours, for a section that a folder may have named.
    """
    of_id = TEACHING_ENVIRONMENTS.get(str(section.get("id")))
    target = section.get("_target_", of_id and f"dataenvgym.environments.{of_id[1]}")
    if "rubric" in section and "teachers" in section:
        target = "dataenvgym.tasks.judging.RubricJudge"
    with suppress(ConfigurationError):  # a class that cannot be imported is refused when built
        if isinstance(target, str) and target != "???":
            module = target.rpartition(".")[0]
            if known and not target.startswith("dataenvgym.") and module not in sys.modules:
                return None
            made = imported(target, "_target_")
            init = getattr(made, "__init__", None)
            modules = (str(getattr(each, "__module__", "")) for each in (made, init))
            if hasattr(init, "group") or any(f"{m}.".startswith("dataenvgym.") for m in modules):
                return made
    return None


_TYPES: Mapping[str, Any] = {
    "seed": Annotated[int, Ge(0), Lt(2**63)],
    "episode.iterations": PositiveInt,
    "samples": PositiveInt,
    "name": str | int | float | None,
}
"""Types of values in sections without a class; the others have the type of their default."""
_LINK = re.compile(r"\$\{(?:oc\.select:)?\.*([\w.]+)(?:,[^}]*)?\}")
"""A value that is another option's."""


def check(config: DictConfig, values: Mapping[str, Any], default: DictConfig) -> None:
    """Refuse values that the type of their option does not have.

    A value that is another option's is reported where it was set. Classes of the user's own are
    checked when they are built.

    Args:
        values: the plain values of `config`.
        default: the configuration before the user's values.

    Raises:
        ConfigurationError: names the key.
    """
    raw = dict(sections(OmegaConf.to_container(config)))
    before = dict(sections(OmegaConf.to_container(default)))
    of_classes: tuple[str, ...] = ()  # what is in them is part of their options
    for key, section in dict(sections(values)).items():
        if key not in raw:  # it is another section, as a whole
            continue
        links = {name: _LINK.fullmatch(str(value)) for name, value in raw[key].items()}
        keys = {name: link[1] for name, link in links.items() if link}
        if (target := class_of(section, known=True)) is not None:
            own = {name: section[name] for name in section if name not in ("id", "_target_")}
            check_arguments(target, own, key, keys)
            of_classes += (f"{key}.",)
        for name, value in section.items() if not f"{key}.".startswith(of_classes) else ():
            path = f"{key}.{name}" if key else str(name)
            kind: Any = type(before.get(key, {}).get(name))
            is_known = name not in keys and kind in (bool, int, float, str, list, dict)
            check_value(value, _TYPES.get(path, kind if is_known else Any), path)


def sections(value: Any, key: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All sections of plain values with their dotted keys, outer ones first."""
    if isinstance(value, dict):
        yield key, value
        for name, inner in value.items():
            yield from sections(inner, f"{key}.{name}" if key else str(name))
