"""Prints a composed configuration as YAML, with the comments of its source files.

    annotated_yaml(["agent=random"])

The output is valid YAML of the same configuration. Comments are read in the style of our own files:
lines above a key, and text after a value, which may continue in the same column of the next lines.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from dataenvgym.registration import config_directory
from dataenvgym.runs.config.composition import chosen_options, compose
from dataenvgym.runs.config.groups import Source, sources_by_group
from dataenvgym.runs.config.instantiation import imported
from dataenvgym.runs.config.values import class_options, literal, sections

WIDTH = 80
_PACKAGE = "# @package "


@dataclass
class Comments:
    """The comments of one file.

    Attributes:
        head: lines before the first key, without Hydra's `# @package`.
        package: of `# @package`, or None.
        about: by dotted key, the lines above it and the text after its value.
    """

    head: list[str] = field(default_factory=list)
    package: str | None = None
    about: dict[str, str] = field(default_factory=dict)


def describe(source: Source) -> str:
    """The description of an option: the first line of its comment, or of its class's docstring."""
    return next(iter(read_comments(source).head), "")


def read_comments(source: Source) -> Comments:
    """The comments of an option: those in its file or its row, or only its description."""
    if isinstance(source, Path):
        return _read(source, source.stat().st_mtime_ns)
    comments = Comments([source.about])
    if source.table is not None:
        file, row = source.table
        about = _read(file, file.stat().st_mtime_ns).about
        comments.head = [about.get(row, "")]
        comments.about = {
            key.removeprefix(f"{row}."): text
            for key, text in about.items()
            if key.startswith(f"{row}.")
        }
    elif not source.about:
        (section,) = source.content.get("checks", {"": source.content}).values()
        documented = imported(section["_target_"], "_target_")
        comments.head = [str(documented.__doc__).strip().partition("\n")[0].removesuffix(".")]
    return comments


@lru_cache(maxsize=256)
def _read(file: Path, changed: int) -> Comments:
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    comments = Comments()
    if text.startswith(_PACKAGE):
        comments.package = lines[0].removeprefix(_PACKAGE).split()[0]
    for i, line in enumerate(takewhile(lambda line: line.startswith("#"), lines)):
        comments.head += [] if line.startswith(_PACKAGE) else [_text(line)]
        lines[i] = ""  # it is above no key
    comments.about = dict(_about(yaml.compose(text, yaml.CSafeLoader), lines))
    return comments


def _about(node: Any, lines: Sequence[str], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The comments of each key that has some, by its dotted name."""

    def comments_of(lines: Iterable[str], column: int) -> Iterator[str]:
        return takewhile(lambda line: line.startswith(f"{' ' * column}#"), lines)

    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        path, at = f"{prefix}{key.value}", key.start_mark
        found = [*comments_of(reversed(lines[: at.line]), at.column)][::-1]
        end = value.end_mark if value.end_mark.line == at.line else key.end_mark
        rest = lines[at.line][end.column :].lstrip(":|>-[{ ")
        if rest.startswith("#"):  # it may continue in the same column
            column = len(lines[at.line]) - len(rest)
            found += [rest, *comments_of(lines[at.line + 1 :], column)]
        if about := " ".join(filter(None, map(_text, found))):
            yield path, about
        yield from _about(value, lines, f"{path}.")


def _text(line: str) -> str:
    return line.strip().lstrip("#").strip()


def annotated_yaml(
    overrides: Sequence[str] = (),
    *,
    config_dir: str | Path | None = None,
    resolve: bool = False,
    name: str = "config",
    brief: bool = False,
) -> str:
    """Print the configuration of a command with these overrides, and its comments.

    Args:
        overrides, config_dir, name: as for `compose`. A missing value is printed as `???`.
        resolve: print values in place of references such as `${seed}`.
        brief: only the comments of options of groups, and many values in a line.

    Raises:
        ConfigurationError: as `compose`; with `resolve`, also if a value is missing.
    """
    config = compose(overrides, config_dir=config_dir, allow_missing=not resolve, name=name)
    if resolve:
        config = OmegaConf.create(literal(OmegaConf.to_container(config, resolve=True)))
    files = sources_by_group(config_dir)
    comments = _Comments(chosen_options(overrides, config_dir, name), files, name)
    comments.explain(config)
    lines: list[str] = []
    values: Any = OmegaConf.to_container(config)
    for key, value in values.items():
        if brief:
            for text in comments.heads.get(key, ()) if isinstance(value, dict) else ():
                lines.append(f"# {textwrap.shorten(text, WIDTH - 2, placeholder=' ...')}")
            flow = yaml.safe_dump({key: value}, default_flow_style=True, sort_keys=False, width=100)
            lines.append(flow.strip().removeprefix("{").removesuffix("}"))
            continue
        if lines and isinstance(value, dict):
            lines.append("")
        lines += _entry(str(key), value, str(key), 0, comments)
    return "\n".join(lines) + "\n"


class _Comments:
    """The comments of a configuration's files, by dotted key of the whole configuration.

    Args:
        choices: the option of each group; a group may name its package after an `@`.
        files: for each group, its options and bases by name.
        name: of the file of the whole configuration.
    """

    def __init__(
        self, choices: Mapping[str, str], files: Mapping[str, Mapping[str, Source]], name: str
    ) -> None:
        self.heads: dict[str, list[str]] = {}
        self.about: dict[str, str] = {}
        self._files = files
        for root in dict.fromkeys(("config", *(["adapt"] if name == "continual" else []), name)):
            self._add(read_comments(config_directory() / f"{root}.yaml"), "")
        for choice, option in choices.items():
            group, _, package = choice.partition("@")
            if option in files.get(group, {}):
                self._add_option(group, option, package or group.replace("/", "."))

    def explain(self, config: DictConfig) -> None:
        """Add the docstrings of the classes for keys without a comment."""
        for key, section in sections(OmegaConf.to_container(config)):
            for name, option in class_options(section).items():
                path = f"{key}.{name}"
                if option.about and path not in {*self.heads, *self.about}:
                    self.about[path] = yaml_words(option.about)

    def _add_option(self, group: str, option: str, package: str) -> None:
        comments = read_comments(self._files[group][option])
        package = package if comments.package is None else comments.package
        prefix = "" if package == "_global_" else package
        if prefix:
            text = " ".join(filter(None, comments.head))
            self.heads.setdefault(prefix, []).append(f"{group}={option}: {text}")
        self._add(comments, prefix)

    def _add(self, comments: Comments, prefix: str) -> None:
        dot = f"{prefix}." if prefix else ""
        self.about |= {f"{dot}{key}": text for key, text in comments.about.items()}


def yaml_words(text: str) -> str:
    """A docstring's text with YAML's constants."""
    words = {"None": "null", "True": "true", "False": "false"}
    return re.sub(r"\b(None|True|False)\b", lambda match: words[match[0]], text).removesuffix(".")


def _entry(key: str, value: Any, path: str, indent: int, comments: _Comments) -> Iterator[str]:
    """One key with its comments: above it, and after its value if there is room."""
    margin = " " * indent
    for text in comments.heads.get(path, ()):
        yield from _comment(text, indent)
    nested = isinstance(value, dict) and bool(value)
    lines = [f"{key}:"] if nested else _leaf(key, value)
    about = comments.about.get(path)
    if about is not None:
        with_comment = f"{margin}{lines[0]}  # {about}"
        # not after the first of several lines of a value, where '#' may be part of the value
        if len(with_comment) <= WIDTH and len(lines) == 1:
            lines[0] = with_comment.removeprefix(margin)
        else:
            yield from _comment(about, indent)
    yield from (f"{margin}{line}" if line else "" for line in lines)
    if nested:
        for name, inner in value.items():
            yield from _entry(str(name), inner, f"{path}.{name}", indent + 2, comments)


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
    if isinstance(value, str) and "\n" in value[:-1] and not value.endswith("\n\n"):
        text = yaml.safe_dump(value, default_style="|", allow_unicode=True, width=math.inf)
        return f"{key}: {text.removesuffix(chr(10))}".split("\n")
    return OmegaConf.to_yaml(OmegaConf.create({key: value})).rstrip("\n").split("\n")
