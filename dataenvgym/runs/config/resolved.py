"""A configuration of plain values, without references.

It is saved as YAML and loaded by OmegaConf, which reads `${x}` in a text as a reference. So a text
that contains it literally, such as a template for a model, is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

from dataenvgym.events import without_secrets


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
