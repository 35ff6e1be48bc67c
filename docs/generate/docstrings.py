"""A griffe extension: makes the house's docstrings readable for the reference.

- An entry of Args or Attributes that describes several names counts for each of them.
- `Attributes` also has the fields that the docstring leaves out, with their defaults.
- Lines with aligned columns, as in the docstrings of packages, stay as they are.
- The name of a page, such as docs/write_your_own.md, is a link to it.
- Of special methods only `__call__` is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import griffe

_SECTION = re.compile(r"(?P<indent> *)(Args|Attributes):$")
_ENTRY = re.compile(r"(?P<indent> *)(?P<names>\*{0,2}\w+(, \*{0,2}\w+)*): (?P<text>.*)")
_COLUMNS = re.compile(r"\S {2,}\S")
_PAGE = re.compile(r"(?<![\w/`])docs/(\w+)\.md")
_SPECIAL = re.compile(r"__(?!call__|init__)\w+__")


class ReadableDocstrings(griffe.Extension):
    """Changes docstrings after the package is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if _SPECIAL.fullmatch(obj.name):
            obj.docstring = None  # what has none is not shown
        if obj.docstring is None:
            return
        text = "\n".join(split(obj.docstring.value, _variadic(obj)))
        if isinstance(obj, griffe.Class):
            text = with_fields(text, _fields(obj))
        obj.docstring.value = with_links(with_columns(text))


def split(text: str, variadic: Mapping[str, str]) -> Iterator[str]:
    """The lines of a docstring, with an entry for each name.

    Args:
        text: the docstring.
        variadic: names as they are shown, by the name without stars.
    """
    section: int | None = None  # indent of the heading that we are under
    names: list[str] = []
    entry: list[str] = []
    for line in [*text.splitlines(), ""]:
        indent = len(line) - len(line.lstrip())
        match = _ENTRY.fullmatch(line) if section is not None else None
        if section is not None and match and indent == section + 4:
            yield from _repeated(names, entry)
            names = [variadic.get(name, name) for name in match["names"].split(", ")]
            entry = [f"{match['indent']}\0: {match['text']}"]
        elif names and line.strip() and section is not None and indent > section + 4:
            entry.append(line)
        else:
            yield from _repeated(names, entry)
            names, entry = [], []
            heading = _SECTION.fullmatch(line)
            section = len(heading["indent"]) if heading else section if not line.strip() else None
            yield line


def _repeated(names: list[str], entry: list[str]) -> Iterator[str]:
    for name in names:
        yield from "\n".join(entry).replace("\0", name).split("\n")


def with_fields(text: str, fields: Mapping[str, str]) -> str:
    """The docstring with an Attributes section that has these fields too.

    Args:
        text: the docstring.
        fields: what to say of each, by name.
    """
    lines = text.rstrip().splitlines()
    start = lines.index("Attributes:") if "Attributes:" in lines else len(lines)
    end = start + 1
    while end < len(lines) and (lines[end].startswith(" ") or not lines[end]):
        end += 1
    told = {
        name for line in lines[start:end] if (m := _ENTRY.fullmatch(line)) for name in [m["names"]]
    }
    new = [f"    {name}: {about}" for name, about in fields.items() if name not in told]
    if not new:
        return text
    head = lines if start == len(lines) else lines[:end]
    while head and not head[-1]:
        head.pop()
    heading = ["", "Attributes:"] if start == len(lines) else []
    return "\n".join([*head, *heading, *new, "", *lines[end:]])


def with_columns(text: str) -> str:
    """The docstring with paragraphs of aligned columns as literal blocks."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(_literal(p) if _is_table(p) else p for p in paragraphs)


def _is_table(paragraph: str) -> bool:
    lines = paragraph.splitlines()
    aligned = sum(bool(_COLUMNS.search(line)) for line in lines)
    return 2 * aligned > len(lines) > 1 and not lines[0].startswith(" ")


def _literal(paragraph: str) -> str:
    return "\n".join(f"    {line}" for line in paragraph.splitlines())


def with_links(text: str) -> str:
    """The docstring with links to pages, from a page of the reference of interfaces."""
    return _PAGE.sub(r"[\g<0>](../../\1.md)", text)


def _fields(obj: griffe.Class) -> dict[str, str]:
    """The public annotated attributes of a class without a docstring of their own."""
    found: dict[str, str] = {}
    for name, member in obj.members.items():
        if not isinstance(member, griffe.Attribute) or member.docstring or name.startswith("_"):
            continue
        if member.annotation is None or "ClassVar" in str(member.annotation):
            continue
        if name == "model_config" or member.labels & {"property", "cached"}:
            continue
        is_own = "class-attribute" in member.labels or member.value is None
        if is_own:
            value = None if member.value is None else str(member.value)
            found[name] = "required." if value is None else f"default `{value}`."
    return found


def _variadic(obj: griffe.Object) -> dict[str, str]:
    function = obj.members.get("__init__", obj) if obj.is_class else obj
    stars = {griffe.ParameterKind.var_keyword: "**", griffe.ParameterKind.var_positional: "*"}
    return {
        parameter.name.lstrip("*"): stars[parameter.kind] + parameter.name.lstrip("*")
        for parameter in getattr(function, "parameters", ())
        if parameter.kind in stars
    }
