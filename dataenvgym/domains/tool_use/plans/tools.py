"""The tool list: a JSON file with the tools that plans may call.

It is a list of objects with `name` and, optionally, `description`, `args` and `returns` (lists of
names). Or it is an object from names to such objects, as in m&m's, where the lists are
`input.arg_name` and `output.arg_name`. Other fields are ignored. Spaces in names become
underscores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dataenvgym.domains.tool_use.plans.plan import tool_name
from dataenvgym.errors import ConfigurationError


@dataclass(frozen=True)
class PlanTool:
    """A tool as the student sees it: names of arguments and results, and a description."""

    name: str
    args: tuple[str, ...] = ()
    returns: tuple[str, ...] = ()
    description: str = ""

    def __str__(self) -> str:
        results = f" -> {', '.join(self.returns)}" if self.returns else ""
        text = f": {self.description}" if self.description else ""
        return f"{self.name}({', '.join(self.args)}){results}{text}"


def read_tools(source: str | Path | Mapping[str, Any] | Sequence[Any]) -> tuple[PlanTool, ...]:
    """The tools of a file, or of its content.

    Raises:
        ConfigurationError: naming the file, the tool and the field.
    """
    if not isinstance(source, str | Path):
        return _tools_of(source, "tools")
    path = Path(source).expanduser()
    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"tools is {str(path)!r}, which cannot be read ({error.strerror}): expected a JSON "
            'file with a list such as [{"name": "image captioning", "args": ["image"], '
            '"returns": ["text"], "description": "..."}]'
        ) from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"{path}: not valid JSON: {error}") from None
    return _tools_of(content, str(path))


def _tools_of(content: Any, where: str) -> tuple[PlanTool, ...]:
    if isinstance(content, Mapping):
        content = [{"name": name, **_object(tool, where, name)} for name, tool in content.items()]
    if not isinstance(content, Sequence) or isinstance(content, str) or not content:
        raise ConfigurationError(
            f"{where}: found {content!r:.60}, expected a list of tools, or an object from names to "
            "tools, with at least one"
        )
    tools = [_tool(tool, where, f"tool {i}") for i, tool in enumerate(content, start=1)]
    names = [tool.name for tool in tools]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigurationError(f"{where}: the tool {twice!r} occurs twice, expected it once")
    return tuple(tools)


def _tool(tool: Any, where: str, which: str) -> PlanTool:
    fields = _object(tool, where, which)
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(
            f"{where}, {which}, field 'name': found {name!r:.60}, expected the name of a tool"
        )
    description = fields.get("description") or ""
    if not isinstance(description, str):
        raise ConfigurationError(
            f"{where}, {name}, field 'description': found {description!r:.60}, expected text"
        )
    return PlanTool(
        tool_name(name),
        _names(fields, ("args", "input"), where, name),
        _names(fields, ("returns", "output"), where, name),
        description.strip(),
    )


def _names(
    fields: Mapping[str, Any], choices: Iterable[str], where: str, name: str
) -> tuple[str, ...]:
    for field in choices:
        found = fields.get(field)
        if isinstance(found, Mapping):
            field, found = f"{field}.arg_name", found.get("arg_name")
        if found is None:
            continue
        if not isinstance(found, Sequence) or not all(isinstance(n, str) for n in found):
            raise ConfigurationError(
                f"{where}, {name}, field {field!r}: found {found!r:.60}, expected a list of names"
            )
        return (found,) if isinstance(found, str) else tuple(found)
    return ()


def _object(value: Any, where: str, which: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{where}, {which}: found {value!r:.60}, expected an object")
    return value
