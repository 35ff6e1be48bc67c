"""A configuration of plain values: nothing in it refers to anything else.

Such a one is kept as YAML, and read back by OmegaConf, to which `${x}` in a text refers to another
value. A text that has it literally, as a template for a model may, is therefore kept escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dataenvgym.secrets import without_secrets

if TYPE_CHECKING:
    from omegaconf import DictConfig


def resolved_yaml(config: DictConfig) -> str:
    """The configuration's values as YAML that is read back as the same values."""
    from omegaconf import OmegaConf

    values = OmegaConf.to_container(config, resolve=True)
    return OmegaConf.to_yaml(OmegaConf.create(literal(values)))


def shown_yaml(config: DictConfig) -> str:
    """The same as `resolved_yaml`, without the passwords and keys in URLs: for `config.yaml`."""
    from omegaconf import OmegaConf

    values = without_secrets(OmegaConf.to_container(config, resolve=True))
    return OmegaConf.to_yaml(OmegaConf.create(literal(values)))


def literal(value: Any) -> Any:
    """A plain value, written so that OmegaConf takes the texts in it as they are."""
    if isinstance(value, str):
        return re.sub(r"(\\*)\$\{", r"\1\1\\${", value)
    if isinstance(value, dict):
        return {name: literal(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [literal(inner) for inner in value]
    return value
