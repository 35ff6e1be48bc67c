"""Checks a user's overrides against the existing options.

An `Override` is one `key=value` in Hydra's grammar. Before Hydra gets it, three checks, each with
"did you mean", ensure that its group and option exist, that its key exists, and that its value has
the type of the value it replaces. Hydra checks the grammar of values.

Short names of models, such as `model=hf/Qwen/Qwen3-8B`, are expanded into overrides (see
`short_names`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationResolutionError

from dataenvgym.errors import ConfigurationError, did_you_mean, shorten
from dataenvgym.registration import TEACHING_ENVIRONMENTS, import_own
from dataenvgym.runs.config.instantiation import fits, named, takes_null
from dataenvgym.runs.config.short_names import (
    model_overrides,
    speaker_overrides,
    task_overrides,
)

_PARTS = re.compile(r"(?P<sign>\+\+|\+|~)?(?P<key>[^=@]+)(?:@[^=]*)?(?:=(?P<value>.*))?", re.DOTALL)

_OTHERS = "task.others."
_SPEAKER = re.compile(rf"{re.escape(_OTHERS)}[\w-]+")
_NAMED = re.compile(
    rf"[^=]*(?:@{re.escape(_OTHERS)}([\w-]+)|\+{re.escape(_OTHERS)}([\w-]+)\._target_)="
)


@dataclass(frozen=True)
class Override:
    """One override: `text` as typed; its `sign` ("", "+", "++", "~"), `key` and `value`."""

    text: str
    sign: str
    key: str
    value: str | None

    @property
    def section(self) -> str:
        """The top-level key that it changes: "agent" for agent.name and for agent/engine."""
        return re.split(r"[./]", self.key)[0]


def parse_overrides(texts: Sequence[str]) -> list[Override]:
    """Parse overrides; short names of models are expanded.

    Raises:
        ConfigurationError: for a text that is not `key=value`.
    """
    parsed: list[Override] = []
    for text in texts:
        match = _PARTS.fullmatch(text)
        if match is None or (match["value"] is None and match["sign"] != "~"):
            raise ConfigurationError(
                f"{text!r} is not an override, expected KEY=VALUE, such as agent=random or "
                "episode.iterations=8"
            )
        if match["key"] == "model":
            parsed += parse_overrides(model_overrides(match["value"] or ""))
        elif match["key"] == "task.tasks" and (match["value"] or "").startswith("["):
            parsed += parse_overrides(task_overrides(match["value"]))
        elif _SPEAKER.fullmatch(match["key"]) and not match["sign"] and match["value"][:1] != "{":
            parsed += parse_overrides(speaker_overrides(match["key"], match["value"]))
        else:
            parsed.append(Override(text, match["sign"] or "", match["key"], match["value"]))
    return parsed


def new_speakers(overrides: Sequence[Override]) -> list[str]:
    """The speakers that the overrides add to the task."""
    matches = (_NAMED.match(override.text) for override in overrides)
    return [match[1] or match[2] for match in matches if match]


def check_choices(overrides: Sequence[Override], groups: Mapping[str, Collection[str]]) -> None:
    """Refuse groups and options that are not in `groups`."""
    for override in overrides:
        if override.key in groups:
            if override.sign == "~" and "@" not in override.text:
                raise _needed(override)
            options = sorted(groups[override.key])
            if override.value is not None and override.value not in options:
                raise ConfigurationError(
                    f"there is no {override.text.lstrip('+')}."
                    f"{did_you_mean(override.value, options)} "
                    f"The options of {override.key} are: {', '.join(options)}."
                )
        elif "/" in override.key:
            raise ConfigurationError(
                f"there is no group {override.key!r}.{did_you_mean(override.key, groups)} "
                f"The groups are: {', '.join(groups)}."
            )


def check_keys(
    overrides: Sequence[Override], config: DictConfig, groups: Collection[str] = ()
) -> None:
    """Refuse a key that is neither in `config` nor one of `groups`, nor added with a `+`."""
    known = list(keys_of(config))
    for override in overrides:
        if override.sign == "~" and override.key in config:
            raise _needed(override)
        if override.key in groups or override.sign in ("+", "++") or override.key in known:
            continue
        way_out = "" if override.sign else f" (A new one takes a plus: +{override.text})"
        raise ConfigurationError(
            f"there is no option {override.key!r}."
            f"{_suggestion(override.key, [*groups, *known])}{way_out}"
        )


def _needed(override: Override) -> ConfigurationError:
    return ConfigurationError(
        f"{override.key} cannot be left out ({override.text}): it is always needed. "
        f"Choose another one, {override.key}=..."
    )


def check_values(overrides: Sequence[Override], config: DictConfig, default: DictConfig) -> None:
    """Refuse a value in `config` with another type than in `default`.

    What is added or forced with a plus is checked where it is used.
    """
    for override in overrides:
        if override.sign:
            continue
        before, after = _value(default, override.key), _value(config, override.key)
        if after is None and _may_be_none(config, override.key):
            continue
        if expected := _expectation(before, after):
            raise ConfigurationError(
                f"{override.key} is {_shown(after)}, expected {expected} like {_shown(before)}"
            )


def _expectation(before: Any, after: Any) -> str | None:
    """Describe the value expected in place of `after`; None if `after` is fine."""
    if before is None:
        return None
    kind: Any = type(before)
    taken = {str: str | list, list: list | dict, dict: dict | str}.get(kind, kind)
    if kind is dict and "_target_" in before:
        taken = dict
    if fits(after, taken):
        return None
    return {bool: "true or false,", str: "text (in quotes: '\"...\"')"}.get(kind, named(kind))


def _may_be_none(config: DictConfig, key: str) -> bool:
    """True if the section's class has an option of this name that can be None."""
    section, _, name = key.rpartition(".")
    of_id = TEACHING_ENVIRONMENTS.get(str(OmegaConf.select(config, f"{section}.id")), ("", ""))[1]
    path = OmegaConf.select(config, f"{section}._target_") or f"dataenvgym.environments.{of_id}"
    module, _, target = str(path).rpartition(".")
    try:
        return takes_null(getattr(import_own(module), target), name)
    except (ImportError, AttributeError, TypeError, ValueError):
        return False


def _value(config: DictConfig, key: str) -> Any:
    """The value as plain Python; None if there is none."""
    try:
        value = OmegaConf.select(config, key)
        return OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
    except InterpolationResolutionError:
        return None


def _shown(value: Any) -> str:
    return "null" if value is None else shorten(repr(value))


def keys_of(config: DictConfig, prefix: str = "") -> Iterator[str]:
    """The dotted keys of `config`, including sections."""
    for name in map(str, config):
        key = f"{prefix}{name}"
        yield key
        if not OmegaConf.is_missing(config, name):
            node = config._get_node(name)
            if isinstance(node, DictConfig) and not node._is_none():
                yield from keys_of(node, f"{key}.")


def _suggestion(key: str, known: Sequence[str]) -> str:
    """`Did you mean`: a key with the same last part, or a similar key in its section, if any."""
    section, _, last = key.rpartition(".")
    same = [name for name in known if re.split(r"[./]", name)[-1] == last]
    if same:
        return f" Did you mean {same[0]!r}?"
    siblings = [name for name in known if name.rpartition(".")[0] == section != ""]
    likely = [name for name in siblings if did_you_mean(last, [name.rpartition(".")[2]])]
    return did_you_mean(key, likely if siblings else known)
