"""Base files: values that several options of a group share.

    # task/mine.yaml
    defaults:
      - _code
      - _self_

    sources: mine.jsonl

The name of a base begins with an underscore. It is not an option: other files name it first in
their `defaults`, and their own values override it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


def is_base(name: str) -> bool:
    """True if a file of this name, without `.yaml`, is a base."""
    return name.startswith("_")


def read_with_bases(name: str, files: Mapping[str, Path]) -> dict[str, Any]:
    """Read a file's values over those of its bases; references are kept.

    Args:
        name: of the file.
        files: the files of its group by name, including bases.
    """
    from omegaconf import OmegaConf

    layers = [content for content in _layers(name, files) if isinstance(content, dict)]
    values: Any = OmegaConf.to_container(OmegaConf.merge({}, *layers))
    return {key: value for key, value in values.items() if key != "defaults"}


def _layers(name: str, files: Mapping[str, Path]) -> Iterator[Any]:
    """The contents of the file's bases, then its own."""
    from omegaconf import OmegaConf

    content = OmegaConf.to_container(OmegaConf.load(files[name]))
    for base in _bases(content.get("defaults", ()) if isinstance(content, dict) else ()):
        if base in files:
            yield from _layers(base, files)
    yield content


def _bases(defaults: Iterable[Any]) -> Iterator[str]:
    """The names of the bases in a `defaults` list."""
    for entry in defaults:
        name = entry.removesuffix("@_here_") if isinstance(entry, str) else ""
        if is_base(name) and name != "_self_":
            yield name
