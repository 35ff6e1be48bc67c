"""From a method's signature and docstring to its `Tool` and the check of its arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NotRequired, Required, get_type_hints

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Tool

_ARGUMENT = re.compile(r"^    (?:    )?(\w+):\s*(.*)$")
_MOST_SHOWN = 60


class Arguments:
    """The arguments of one tool: their JSON schema, and the check of what a student gives.

    Types are checked as JSON has them: an int may be given for a float, "5" not for an int, a date
    as text.

    Raises:
        ConfigurationError: for a method without a type for each argument, or with *args.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(method).parameters.values())[1:]
        hints = get_type_hints(method, include_extras=True)
        fields: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        for parameter in parameters:
            by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if not by_name or parameter.name not in hints:
                raise ConfigurationError(
                    f"argument {parameter} of tool {method.__qualname__} has no type or no name of "
                    "its own: write each as `name: type`"
                )
            if parameter.default is parameter.empty:
                fields[parameter.name] = Required[hints[parameter.name]]
            else:
                fields[parameter.name] = NotRequired[hints[parameter.name]]
                self._defaults[parameter.name] = parameter.default
        kind = with_config(ConfigDict(extra="forbid"))(TypedDict("Arguments", fields))  # type: ignore[operator]
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(kind)
        self._names = tuple(fields)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in the types of the method.

        Raises:
            ValueError: with a short sentence for the student.
        """
        try:
            return self._adapter.validate_json(orjson.dumps(arguments), strict=True)
        except ValidationError as error:
            raise ValueError(self._complaint(error)) from None
        except (TypeError, ValueError) as error:
            raise ValueError(f"the arguments are not plain JSON: {_short(str(error))}") from None

    def _complaint(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        name = _short(".".join(map(str, first["loc"])))
        if first["type"] == "extra_forbidden":
            expected = ", ".join(self._names) or "none"
            return f"there is no argument {name!r}; the arguments are: {expected}"
        if first["type"] == "missing":
            return f"argument {name!r} is missing"
        return f"argument {name!r} is {_short(repr(first['input']))}: {first['msg']}"

    def schema(self, descriptions: Mapping[str, str]) -> dict[str, Any]:
        """The JSON schema, with what the docstring says of each argument."""
        schema = _without_titles(self._adapter.json_schema())
        properties = schema.setdefault("properties", {})
        for name, text in descriptions.items():
            if name in properties:
                properties[name]["description"] = text
        for name, default in self._defaults.items():
            properties[name]["default"] = TypeAdapter(Any).dump_python(default, mode="json")
        schema.pop("additionalProperties", None)
        return schema  # type: ignore[no-any-return]


def tool_of(method: Callable[..., Any], arguments: Arguments) -> Tool:
    """The tool that a method is, described by its docstring (Google style)."""
    text = inspect.getdoc(method) or ""
    head = re.split(r"\n\s*(?:Args|Returns|Raises):", text)[0]
    return Tool(
        name=method.__name__,
        description=" ".join(head.split()),
        parameters=arguments.schema(_descriptions(text)),
    )


def _descriptions(docstring: str) -> dict[str, str]:
    """What the section `Args:` says of each argument."""
    found: dict[str, str] = {}
    name = None
    for line in docstring.partition("Args:")[2].splitlines()[1:]:
        if not line.startswith("    "):
            break
        if entry := _ARGUMENT.match(line):
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] += " " + line.strip()
    return found


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(each) for each in schema] if isinstance(schema, list) else schema


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
