"""A configuration of plain values, without references.

It is saved as YAML and loaded by OmegaConf, which reads `${x}` in a text as a reference. So a text
that contains it literally, such as a template for a model, is escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dataenvgym.secrets import without_secrets

if TYPE_CHECKING:
    from omegaconf import DictConfig


def resolved_yaml(config: DictConfig) -> str:
    """The configuration's values as YAML, which loads as the same values."""
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(config, resolve=True)
    return OmegaConf.to_yaml(OmegaConf.create(literal(values)))


def shown_yaml(config: DictConfig) -> str:
    """The same as `resolved_yaml`, without passwords and keys in URLs: for `config.yaml`."""
    from omegaconf import OmegaConf

    values = without_secrets(OmegaConf.to_container(config, resolve=True))
    return OmegaConf.to_yaml(OmegaConf.create(literal(values)))


def literal(value: Any) -> Any:
    """Escape a plain value so that OmegaConf reads its texts literally."""
    if isinstance(value, str):
        return re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
    if isinstance(value, dict):
        return {name: literal(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [literal(inner) for inner in value]
    return value
