"""The ways to type `task.sources`.

    task.sources=a.jsonl                                one file for all splits
    task.sources={validation: a.jsonl, test: b.jsonl}   a file for each split; no other splits
    task.sources.test=b.jsonl                           another file for one split
    task.sources=test:b.jsonl                           the same; a shell expands {test:b,...} to it

Hydra would merge the second form into the task's existing sources, and refuse the third form if the
task has none. So these overrides are removed first, and applied after Hydra.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataenvgym.config.overrides import Override
from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.source import SPLITS

if TYPE_CHECKING:
    from omegaconf import DictConfig

KEY = "task.sources"
_OF_ONE_SPLIT = re.compile(rf"({'|'.join(SPLITS)}):\s*(\S.*)", re.DOTALL)


def is_source(override: Override, config: DictConfig) -> bool:
    """True if the override changes the task's sources, as a whole or for one split."""
    names = (KEY, *(f"{KEY}.{split}" for split in SPLITS))
    has_sources = "task" in config and "sources" in config.task.keys()  # noqa: SIM118 - also if ???
    return has_sources and override.key in names and override.sign != "~"


def lay_sources(config: DictConfig, overrides: Sequence[Override]) -> None:
    """Apply these overrides to `config.task.sources`, in order."""
    from omegaconf import OmegaConf

    if not overrides:
        return
    section: Any = OmegaConf.to_container(config.task)
    sources = None if OmegaConf.is_missing(config.task, "sources") else section["sources"]
    for override in overrides:
        sources = _changed(sources, override)
    OmegaConf.update(config, KEY, sources, merge=False)


def _changed(sources: Any, override: Override) -> Any:
    value = _value(override)
    split = override.key.removeprefix(KEY).removeprefix(".")
    if not split and isinstance(value, str) and (match := _OF_ONE_SPLIT.fullmatch(value)):
        split, value = match.groups()
    if not split:
        return value
    by_split = isinstance(sources, dict) and "dataset" not in sources
    before = sources if by_split else dict.fromkeys(SPLITS if sources else (), sources)
    return {**before, split: value}


def _value(override: Override) -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    (parsed,) = OverridesParser.create().parse_overrides([override.text])
    value = parsed.value()
    if parsed.is_sweep_override() or isinstance(value, list):
        raise ConfigurationError(
            f"{override.text!r} names several sources, expected one, or one for each split, such "
            f"as '{KEY}={{validation: a.jsonl, test: b.jsonl}}'. A path with a comma goes into two "
            f"kinds of quotes: '{KEY}=\"a,b.jsonl\"'"
        )
    return value
