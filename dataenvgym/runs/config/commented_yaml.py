"""Prints a composed configuration as YAML, with the comments of its source files.

    annotated_yaml(["agent=random"])

The output is valid YAML of the same configuration. Comments are read in the style of our own files:
lines above a key, and text after a value, which may continue in the same column of the next lines.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf

from dataenvgym.registration import config_directory
from dataenvgym.runs.config.class_defaults import class_options, sections
from dataenvgym.runs.config.composition import chosen_options, compose
from dataenvgym.runs.config.groups import Source, sources_by_group
from dataenvgym.runs.config.instantiation import imported
from dataenvgym.runs.config.resolved import literal

WIDTH = 80
_PACKAGE = "# @package "


@dataclass
class Comments:
    """The comments of one file.

    Attributes:
        head: lines before the first key, without Hydra's `# @package`.
        package: of `# @package`, or None.
        about: by dotted key, the lines above it and the text after its value.
        included: names in the file's `defaults` list; they are files in the same folder.
    """

    head: list[str] = field(default_factory=list)
    package: str | None = None
    about: dict[str, str] = field(default_factory=dict)
    included: list[str] = field(default_factory=list)


def describe(source: Source) -> str:
    """The description of an option: the first line of its comment, or of its class's docstring."""
    return next(iter(read_comments(source).head), "")


def read_comments(source: Source) -> Comments:
    """The comments of an option: those in its file or its row, or only its description."""
    if isinstance(source, Path):
        return _read(source, source.stat().st_mtime_ns)
    names = [name for name in source.content.get("defaults", ()) if isinstance(name, str)]
    comments = Comments([source.about], included=[name for name in names if name != "_self_"])
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
    lines, comments = text.splitlines(), Comments()
    root = yaml.compose(text, yaml.CSafeLoader)
    first = 0  # the line after the head, then after each key
    if lines and lines[0].startswith(_PACKAGE):
        comments.package, first = lines[0].removeprefix(_PACKAGE).split()[0], 1
    while first < len(lines) and lines[first].startswith("#"):
        comments.head.append(_text(lines[first]))
        first += 1
    taken: set[int] = set()  # lines that are no comment of a key: in a text, or after a value
    for path, key_row, value, (row, column) in _keys(root, ""):
        above = (lines[n].strip() for n in range(first, key_row) if n not in taken)
        about = [_text(line) for line in above if line.startswith("#")]
        first = key_row + 1
        if value.value and isinstance(value.value, str) and value.style in ("|", ">"):
            taken.update(range(value.start_mark.line + 1, value.end_mark.line))
            row, column = value.start_mark.line, value.start_mark.column
        behind = lines[row][column:].lstrip("|>+-0123456789 ")
        if behind.startswith("#"):
            place = " " * (len(lines[row]) - len(behind)) + "#"
            about.append(_text(behind))
            while row + 1 < len(lines) and lines[row + 1].startswith(place):
                row += 1
                taken.add(row)
                about.append(_text(lines[row]))
        if about:
            comments.about[path] = " ".join(about)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "defaults":
            names = [each.value for each in value.value if isinstance(each, yaml.ScalarNode)]
            comments.included = [name for name in names if name != "_self_"]
    return comments


def _text(line: str) -> str:
    return line.strip().lstrip("#").strip()


def _keys(node: Any, prefix: str) -> Iterator[tuple[str, int, Any, tuple[int, int]]]:
    """Each key of block mappings: its path, its line, its value, and where the value ends.

    The value of a key with a block below it "ends" behind the colon.
    """
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        is_block = not isinstance(value, yaml.ScalarNode) and not value.flow_style
        end, after = (key.end_mark, 1) if is_block else (value.end_mark, 0)
        yield path, key.start_mark.line, value, (end.line, end.column + after)
        yield from _keys(value, f"{path}.")


def annotated_yaml(
    overrides: Sequence[str] = (),
    *,
    config_dir: str | Path | None = None,
    resolve: bool = False,
    name: str = "config",
) -> str:
    """Print the configuration of a command with these overrides, and its comments.

    Args:
        overrides, config_dir, name: as for `compose`. A missing value is printed as `???`.
        resolve: print values in place of references such as `${seed}`.

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
        self._include(comments, group, package)
        prefix = "" if package == "_global_" else package
        if prefix:
            text = " ".join(filter(None, comments.head))
            self.heads.setdefault(prefix, []).append(f"{group}={option}: {text}")
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
        self.about |= {f"{dot}{key}": text for key, text in comments.about.items()}


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
    if isinstance(value, str) and "\n" in value:
        mark, text = "|" if value.endswith("\n") else "|-", value.removesuffix("\n").split("\n")
        lines = [f"{key}: {mark}", *(f"  {line}" if line else "" for line in text)]
        try:
            if yaml.safe_load("\n".join(lines) + "\n") == {key: value}:
                return lines
        except yaml.YAMLError:
            pass  # such as control characters, which need a quoted text
    return OmegaConf.to_yaml(OmegaConf.create({key: value})).rstrip("\n").split("\n")
