"""A griffe extension: a line of a docstring that describes several parameters counts for each.

    Args:
        temperature, max_tokens: of one answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

_SECTION = re.compile(r"(?P<indent> *)(Args|Attributes):$")
_ENTRY = re.compile(r"(?P<indent> *)(?P<names>\*{0,2}\w+(, \*{0,2}\w+)*): (?P<text>.*)")


class SeveralParameters(griffe.Extension):
    """Splits the entries of Args and Attributes, and writes `options` as `**options`."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = "\n".join(split(obj.docstring.value, _variadic(obj)))


def split(text: str, variadic: dict[str, str]) -> Iterator[str]:
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
            entry = [f"{match['indent']}{{}}: {match['text'].replace('{', '{{').replace('}', '}}')}"]
        elif names and line.strip() and section is not None and indent > section + 4:
            entry.append(line.replace("{", "{{").replace("}", "}}"))
        else:
            yield from _repeated(names, entry)
            names, entry = [], []
            heading = _SECTION.fullmatch(line)
            section = len(heading["indent"]) if heading else section if not line.strip() else None
            yield line


def _repeated(names: list[str], entry: list[str]) -> Iterator[str]:
    for name in names:
        yield from "\n".join(entry).format(name).split("\n")


def _variadic(obj: griffe.Object) -> dict[str, str]:
    function = obj.members.get("__init__", obj) if obj.is_class else obj
    parameters = getattr(function, "parameters", ())
    kinds = {griffe.ParameterKind.var_keyword: "**", griffe.ParameterKind.var_positional: "*"}
    return {p.name.lstrip("*"): f"{kinds[p.kind]}{p.name.lstrip('*')}" for p in parameters if p.kind in kinds}
