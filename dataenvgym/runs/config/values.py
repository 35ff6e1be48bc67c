"""The plain values of a configuration: filled in, checked, walked through, written as YAML.

YAML files name a class and what differs from its defaults. The others are those of the class (see
`dataenvgym.options`), so a composed configuration has all values. A class of the user's own with a
constructor of its own is left as it is, unless it takes a group (`options.takes`): its options are
added with a plus.

OmegaConf reads `${x}` in a text as a reference. So a text that contains it literally, such as a
template for a model, is escaped (`literal`).
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
from dataenvgym.events import without_secrets
from dataenvgym.options import Option, options_of
from dataenvgym.registration import TEACHING_ENVIRONMENTS
from dataenvgym.runs.config.instantiation import check_arguments, check_value, imported


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


def walk(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """All plain values with their dotted keys; a section is before what is in it."""
    yield key, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from walk(inner, f"{key}.{name}" if key else str(name))


def sections(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All sections of plain values with their dotted keys, outer ones first."""
    return ((key, inner) for key, inner in walk(value) if isinstance(inner, dict))


def resolved_yaml(config: DictConfig, *, secrets: bool = True) -> str:
    """The configuration's values as YAML, which loads as the same values.

    Args:
        secrets: False leaves out passwords and keys in URLs: for `config.yaml`.
    """
    values = OmegaConf.to_container(config, resolve=True)
    return OmegaConf.to_yaml(
        OmegaConf.create(literal(values if secrets else without_secrets(values)))
    )


def literal(value: Any) -> Any:
    """Escape a plain value so that OmegaConf reads its texts literally."""
    return mapped(
        value, lambda x: re.sub(r"(\\*)\$\{", r"\1\1\\${", x) if isinstance(x, str) else x
    )


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change each value in sections and lists."""
    if isinstance(value, dict):
        return {name: mapped(inner, change) for name, inner in value.items()}
    if isinstance(value, list):
        return [mapped(inner, change) for inner in value]
    return change(value)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in sections and lists by dotted key; items of lists by their index."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    if not isinstance(value, dict):
        yield key, value
        return
    for name, part in value.items():
        yield from leaves(part, f"{key}.{name}" if key else str(name))
