"""The identity of a run: its name, and the values that determine its results."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError
from dataenvgym.events import without_secrets
from dataenvgym.runs.config.instantiation import section_target
from dataenvgym.runs.config.values import class_options, mapped, sections, walk

if TYPE_CHECKING:
    from omegaconf import DictConfig

FREE = ("name", "runs_dir", "episode.iterations", "episode.metrics", "episode.test_each")
"""Keys without a class that may differ when the same run is called again. Those of classes are
marked in their signatures (`dataenvgym.options.Free`)."""

FREE_SECTIONS = ("executor", "store")
"""Sections that may differ too: where the episode runs, and where else its episodes are stored,
does not change its results."""


def run_name(config: DictConfig) -> str:
    """`config.name`; by default task, agent, seed and a hash of the decisive values."""
    if config.name is not None:
        name = str(config.name)
        check_folder_name(name, "name")
        return name
    names = f"{task_name(config)}-{short_name(config.agent)}"
    return f"{names}-seed{config.seed}-{digest(decisive_values(config))}"


def digest(values: Mapping[str, Any]) -> str:
    """The hash of decisive values at the end of a default name; 5.0 has the hash of 5."""
    plain = mapped(dict(values), lambda x: int(x) if isinstance(x, float) and x.is_integer() else x)
    options = exact_json.SORT_KEYS | exact_json.NON_STR_KEYS  # {1: 0.5} in an option
    return hashlib.sha256(exact_json.dumps(plain, option=options)).hexdigest()[:8]


def check_folder_name(name: str, option: str) -> None:
    """Refuse names with slashes, hidden names, and names that break a terminal or a shell.

    Raises:
        ConfigurationError: names the option.
    """
    if name == "" or name.startswith(".") or re.search(r"[/\\]", name) or not name.isprintable():
        raise ConfigurationError(
            f"{option} is {name!r}, expected the plain name of a folder: no slashes, no control "
            "characters, no dot in front"
        )


def decisive_values(config: DictConfig) -> dict[str, Any]:
    """All values that determine the results (the decisive values), by dotted key."""
    from omegaconf import OmegaConf

    values = without_secrets(OmegaConf.to_container(config, resolve=True))
    free = tuple(f"{key}." for key in free_keys(values))
    plain = ((k, v) for k, v in walk(values) if not (v and isinstance(v, dict)))
    return {k: v for k, v in plain if not f"{k}.".startswith(free)}


def free_keys(values: Mapping[Any, Any]) -> list[str]:
    """The keys of a configuration that may differ when the same run is called again."""
    of_classes = (
        f"{key}.{name}"
        for key, section in sections(values)
        for name, option in class_options(section, known=True).items()
        if option.is_free
    )
    return [*FREE, *FREE_SECTIONS, *of_classes]


def task_name(config: DictConfig) -> str:
    """The short name of `config.task`; of a class of one's own, the `name` that it was given."""
    section = config.task
    if section.get("name") is None and not str(section._target_).startswith("dataenvgym."):
        with suppress(ConfigurationError):  # a class that cannot be imported is refused elsewhere
            for base in getattr(section_target(config, "task"), "__mro__", ()):
                if base.__module__.partition(".")[0] == "dataenvgym":
                    break
                if isinstance(name := vars(base).get("name"), str) and name:
                    return _fit_for_a_folder(name)
    return short_name(section)


def short_name(section: DictConfig) -> str:
    """The section's `name`, or a name from its class: PocketMathTask -> pocket_math."""
    name = section.get("name")
    if name is None:
        words = str(section._target_).rsplit(".", 1)[-1].removesuffix("Task")
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
    return _fit_for_a_folder(str(name))


def _fit_for_a_folder(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "unnamed"
