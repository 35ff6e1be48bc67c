"""Prints a composed configuration as YAML, with the comments of its source files.

    annotated_yaml(["agent=random"])

The output is valid YAML of the same configuration.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dataenvgym.config.class_defaults import class_options, sections
from dataenvgym.config.comments import Comments, read_comments
from dataenvgym.config.composition import (
    chosen_options,
    compose,
    files_by_group,
)
from dataenvgym.config.resolved import literal
from dataenvgym.shipped_configs import config_directory

if TYPE_CHECKING:
    from omegaconf import DictConfig

WIDTH = 80
FULL = 80
"""A comment line of at least this length was wrapped: the next line continues it."""


def annotated_yaml(
    overrides: Sequence[str] = (),
    *,
    config_dir: str | Path | None = None,
    resolve: bool = False,
) -> str:
    """Print the configuration of `dataenvgym run` with these overrides, and its comments.

    Args:
        overrides, config_dir: as for `compose`. A missing value is printed as `???`.
        resolve: print values in place of references such as `${seed}`.

    Raises:
        ConfigurationError: as `compose`; with `resolve`, also if a value is missing.
    """
    from omegaconf import OmegaConf

    config = compose(overrides, config_dir=config_dir, allow_missing=not resolve)
    if resolve:
        config = OmegaConf.create(literal(OmegaConf.to_container(config, resolve=True)))
    comments = _Comments(chosen_options(overrides, config_dir), files_by_group(config_dir))
    comments.explain(config)
    return "\n".join(_lines(config, comments)) + "\n"


class _Comments:
    """The comments of a configuration's files, by dotted key of the whole configuration.

    Args:
        choices: the option of each group; a group may name its package after an `@`.
        files: for each group, its files by name, including bases.
    """

    def __init__(self, choices: Mapping[str, str], files: Mapping[str, Mapping[str, Path]]) -> None:
        self.above: dict[str, list[str]] = {}
        self.behind: dict[str, str] = {}
        self._files = files
        self._add(read_comments(config_directory() / "config.yaml"), "")
        for choice, option in choices.items():
            group, _, package = choice.partition("@")
            if option in files.get(group, {}):
                self._add_option(group, option, package or group.replace("/", "."))

    def explain(self, config: DictConfig) -> None:
        """Add the docstrings of the classes for keys without a comment."""
        from omegaconf import OmegaConf

        for key, section in sections(OmegaConf.to_container(config)):
            for name, option in class_options(section).items():
                path = f"{key}.{name}"
                if option.about and path not in self.above and path not in self.behind:
                    self.behind[path] = yaml_words(option.about)

    def _add_option(self, group: str, option: str, package: str) -> None:
        comments = read_comments(self._files[group][option])
        package = package if comments.package is None else comments.package
        self._include(comments, group, package)
        prefix = "" if package == "_global_" else package
        if prefix:
            head = self.above.setdefault(prefix, [])
            first, *rest = _paragraphs(comments.head) or [""]
            head += [f"{group}={option}: {first}", *rest]
        self._add(comments, prefix)

    def _include(self, comments: Comments, group: str, package: str) -> None:
        """Add the comments of files in a file's `defaults` that are not options of a group."""
        for entry in comments.included:
            path, _, place = entry.partition("@")
            folder, _, name = path.rpartition("/")
            beside = folder[1:] if path.startswith("/") else f"{group}/{folder}".rstrip("/")
            if (file := self._files.get(beside, {}).get(name)) is None:
                continue
            inner, put = read_comments(file), _put(package, place)
            self._include(inner, beside, put)
            self._add(inner, "" if put == "_global_" else put)

    def _add(self, comments: Comments, prefix: str) -> None:
        dot = f"{prefix}." if prefix else ""
        self.above |= {f"{dot}{k}": _paragraphs(lines) for k, lines in comments.above.items()}
        self.behind |= {f"{dot}{key}": text for key, text in comments.behind.items()}


def yaml_words(text: str) -> str:
    """A docstring's text with YAML's constants."""
    words = {"None": "null", "True": "true", "False": "false"}
    return re.sub(r"\b(None|True|False)\b", lambda match: words[match[0]], text).removesuffix(".")


def _put(package: str, place: str) -> str:
    """The package of a file that another file, in `package`, includes at `place`."""
    if place in ("", "_here_"):
        return package
    if package == "_global_" or place.startswith("_global_."):
        return place.removeprefix("_global_.")
    return f"{package}.{place}"


def _lines(config: DictConfig, comments: _Comments) -> Iterator[str]:
    from omegaconf import OmegaConf

    values: Any = OmegaConf.to_container(config)
    for i, (key, value) in enumerate(values.items()):
        if i and isinstance(value, dict):
            yield ""
        yield from _entry(str(key), value, str(key), 0, comments)


def _entry(key: str, value: Any, path: str, indent: int, comments: _Comments) -> Iterator[str]:
    """One key with its comments: above it, and after its value if there is room."""
    margin = " " * indent
    for text in comments.above.get(path, ()):
        yield from _comment(text, indent)
    nested = isinstance(value, dict) and bool(value)
    lines = [f"{key}:"] if nested else _leaf(key, value)
    behind = comments.behind.get(path)
    if behind is not None:
        with_comment = f"{margin}{lines[0]}  # {behind}"
        # not after the first of several lines of a value, where '#' may be part of the value
        if len(with_comment) <= WIDTH and len(lines) == 1:
            lines[0] = with_comment.removeprefix(margin)
        else:
            yield from _comment(behind, indent)
    yield from (f"{margin}{line}" if line else "" for line in lines)
    if nested:
        for name, inner in value.items():
            yield from _entry(str(name), inner, f"{path}.{name}", indent + 2, comments)


def _paragraphs(lines: Iterable[str]) -> list[str]:
    """Join the wrapped lines of a comment."""
    paragraphs: list[str] = []
    was_full = False
    for line in lines:
        if was_full:
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
        was_full = len(line) >= FULL
    return paragraphs


def _comment(text: str, indent: int) -> Iterator[str]:
    yield from textwrap.wrap(
        text or "",
        WIDTH,
        initial_indent=" " * indent + "# ",
        subsequent_indent=" " * indent + "# ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [" " * indent + "#"]


def _leaf(key: str, value: Any) -> list[str]:
    """The lines of a key with a plain value; a text of several lines is a block if possible."""
    from omegaconf import OmegaConf

    if isinstance(value, str) and "\n" in value:
        mark, text = "|" if value.endswith("\n") else "|-", value.removesuffix("\n").split("\n")
        lines = [f"{key}: {mark}", *(f"  {line}" if line else "" for line in text)]
        try:
            if yaml.safe_load("\n".join(lines) + "\n") == {key: value}:
                return lines
        except yaml.YAMLError:
            pass  # such as control characters, which need a quoted text
    return OmegaConf.to_yaml(OmegaConf.create({key: value})).rstrip("\n").split("\n")
