"""Reference of the configuration: every group, option, default and explanation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import yaml

from dataenvgym.cli.listing import ORDER
from dataenvgym.registration import config_directory
from dataenvgym.runs.config.commented_yaml import (
    Comments,
    annotated_yaml,
    describe,
    read_comments,
    yaml_words,
)
from dataenvgym.runs.config.composition import chosen_options
from dataenvgym.runs.config.groups import (
    ENTRY_POINTS,
    Source,
    content_of,
    is_base,
    layers,
    read_with_bases,
    sources_by_group,
)
from dataenvgym.runs.config.values import class_options, filled, sections
from docs.generate.commands import cell

FULL = 80
"""A comment line of at least this length was wrapped: the next line continues it."""
OVERVIEW = """\
---
search:
  boost: 0.5
---

# All options

Every command that takes `KEY=VALUE` builds its configuration from the groups below. `GROUP=NAME`
chooses an option of a group, `GROUP.KEY=VALUE` changes a value in it:

    dataenvgym run agent=skill_tree trainer.lora_rank=32

`dataenvgym config agent=skill_tree` prints the whole configuration of such a command, and
`dataenvgym list` prints the table on this page. A star marks the default option of
`dataenvgym run`. Groups with the option `custom` also take a class: `agent=my_module.MyAgent`.

"""
DEFAULTS = """\
## The default configuration

The configuration of `dataenvgym run` without arguments; `dataenvgym config` prints it.

"""
EVALUATION = """\
## Evaluations

`dataenvgym eval` has the same configuration and these options.

"""


def option_pages() -> dict[str, str]:
    """By path under docs/: the overview, and a page for each group with those inside it."""
    groups = sources_by_group()
    parts = sorted({group.partition("/")[0] for group in groups}, key=_place)
    pages = {"reference/options.md": _overview(groups)}
    for part in parts:
        inside = sorted(group for group in groups if group.partition("/")[0] == part)
        text = "\n".join(_group(group, groups[group]) for group in inside)
        pages[f"reference/config/{part}.md"] = text
    return pages


def _place(group: str) -> tuple[int, str]:
    part = group.partition("/")[0]
    return (ORDER.index(part) if part in ORDER else len(ORDER), group)


def _overview(groups: Mapping[str, Mapping[str, Source]]) -> str:
    chosen = chosen_options()
    lines: list[str] = []
    for group in sorted(groups, key=_place):
        part = group.partition("/")[0]
        lines += [f"## {group}=", "", "| option | what it is |", "|---|---|"]
        for name in sorted(name for name in groups[group] if not is_base(name)):
            star = " \\*" if chosen.get(group) == name else ""
            about = cell(describe(groups[group][name]))
            lines.append(f"| [`{name}`](config/{part}.md#{_anchor(group, name)}){star} | {about} |")
        lines.append("")
    file = config_directory() / "eval.yaml"
    evaluation = _table(filled(content_of(file)), [read_comments(file)], "")
    default = ["```yaml", annotated_yaml().rstrip(), "```"]
    return OVERVIEW + "\n".join([*lines, EVALUATION + evaluation, DEFAULTS, *default]) + "\n"


def _anchor(group: str, name: str) -> str:
    return f"{group}-{name}".replace("/", "-")


def _group(group: str, files: Mapping[str, Source]) -> str:
    """A group: its options, then the bases that they build on."""
    lines = [f"{'#' if '/' not in group else '##'} {group}", ""]
    if "/" not in group:
        lines += [
            f"Options of `{group}=NAME`. `dataenvgym config {group}=NAME` prints one with all",
            "values that it builds on. A value `???` must be given.",
            "",
        ]
    if group in ENTRY_POINTS:
        lines += [
            f"An installed package offers more with entry points `{ENTRY_POINTS[group]}`.",
            "",
        ]
    for name in sorted(files, key=lambda name: (is_base(name), name)):
        lines += [_option(group, name, files), ""]
    return "\n".join(lines)


def _option(group: str, name: str, files: Mapping[str, Source]) -> str:
    comments = read_comments(files[name])
    title = f"`{name}`, a base" if is_base(name) else f"`{group}={name}`"
    depth = "##" if "/" not in group else "###"
    lines = [f"{depth} {title} {{#{_anchor(group, name)}}}", ""]
    for text in _paragraphs(comments.head):
        lines += [_escaped(text if text[-1] in ".:;!?" else f"{text}."), ""]
    lines += _builds_on(group, name, files)
    content = content_of(files[name]) if is_base(name) else filled(read_with_bases(name, files))
    inherited = [read_comments(files[layer]) for layer in reversed(layers(name, files))]
    return "\n".join([*lines, _table(content, inherited, _package(group, comments))])


def _paragraphs(head: list[str]) -> list[str]:
    """The first line of a file's comment, and the rest; one text if the first line continues."""
    if len(head) > 1 and len(head[0]) >= FULL and head[1][:1].isalnum():
        return [" ".join(head)]
    if not head:
        return []
    return [text for text in (head[0], " ".join(head[1:])) if text.strip()]


def _escaped(text: str) -> str:
    """Escape `<` and `*`, except between backticks."""
    parts = text.replace("<", "&lt;").split("`")
    return "`".join(p if i % 2 else p.replace("*", "\\*") for i, p in enumerate(parts))


def _package(group: str, comments: Comments) -> str:
    """Where the file's values are put in the whole configuration."""
    if comments.package is None:
        return group.replace("/", ".")
    return "" if comments.package == "_global_" else comments.package


def _builds_on(group: str, name: str, files: Mapping[str, Source]) -> Iterator[str]:
    defaults = [content_of(files[layer]).get("defaults", ()) for layer in layers(name, files)]
    bases = [entry for entry in defaults[-1] if isinstance(entry, str) and entry in files]
    choices = [
        f"{key}={value}"
        for e in chain(*defaults)
        if isinstance(e, dict)
        for key, value in e.items()
        if value is not None  # a group of which nothing is chosen
    ]
    if bases:
        links = ", ".join(f"[`{base}`](#{_anchor(group, base)})" for base in bases)
        yield from (f"Builds on {links}.", "")
    if choices:
        names = ", ".join(_choice(group, choice) for choice in choices)
        yield from (f"Chooses {names}.", "")


def _choice(group: str, text: str) -> str:
    """An entry such as `override /skills@there: gold` as one types it, `skills=gold`, linked."""
    key, _, option = text.removeprefix("override ").partition("=")
    key = key.partition("@")[0]
    chosen = key[1:] if key.startswith("/") else f"{group}/{key}"
    link = f"{chosen.partition('/')[0]}.md#{_anchor(chosen, option)}"
    return f"[`{chosen}={option}`]({link})"


def _table(content: Mapping[str, Any], comments: Sequence[Comments], package: str) -> str:
    """The keys of an option with their values and explanations; long texts behind the table.

    Args:
        content: with the defaults of its classes, whose docstrings explain what no comment does.
        comments: those of its files, the first ones first.
    """
    rows = list(_leaves({k: v for k, v in content.items() if k != "defaults"}))
    abouts: dict[str, str] = {}
    for file in comments:
        for path, text in file.about.items():
            abouts.setdefault(path, text)
    for key, section in sections(dict(content)):
        for name, option in class_options(section).items():
            abouts.setdefault(f"{key}.{name}".lstrip("."), yaml_words(option.about))
    if not rows:
        return ""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    texts: list[str] = []
    for path, value in rows:
        key = f"{package}.{path}" if package else path
        about = abouts.get(path, "")
        if isinstance(value, str) and "\n" in value:
            texts += ["", f"`{key}`:", "", "````text", value.rstrip(), "````"]
            shown = "a text, below"
        else:
            shown = "" if value is _SECTION else _code(_yaml(value))
        if value is not _SECTION or about.strip():
            lines.append(f"| `{key}` | {shown} | {_escaped(cell(about))} |")
    return "\n".join([*lines, *texts]) + "\n"


_SECTION = object()


def _leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by dotted key, and a marker for each section of them."""
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield f"{prefix}{key}", _SECTION
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _yaml(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False)
    return text.strip().removesuffix("...").strip()


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`".replace("|", "\\|")
