"""Makes a `Tool` of a method's signature and docstring, and checks the arguments of calls."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NotRequired, Required, get_type_hints

import orjson
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from dataenvgym.errors import ConfigurationError, shorten
from dataenvgym.records import Tool

_ARGUMENTS = re.compile(r"^Args:[ \t]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"(\w+)(?: *\([^)]*\))?:\s*(.*)$")
_MOST_BYTES = 200_000  # of the arguments of a call


class Arguments:
    """The arguments of one tool: their JSON schema, and the check of a student's values.

    Types are checked as in JSON: a float accepts an int, an int does not accept "5", a date is a
    text. All arguments together have at most 200,000 bytes, and integers 64 bits: a world computes
    with them.

    Attributes:
        defaults: of the arguments that may be left out.

    Raises:
        KeyError: for an argument without a type.
        ConfigurationError: for a default that calls would share.
        pydantic.PydanticUserError: for an argument whose type has no JSON schema.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        fields: dict[str, Any] = {}
        self.defaults: dict[str, Any] = {}
        hints = get_type_hints(method, include_extras=True)
        for parameter in list(inspect.signature(method).parameters.values())[1:]:
            if parameter.default is parameter.empty:
                fields[parameter.name] = Required[hints[parameter.name]]
                continue
            if isinstance(parameter.default, list | dict | set):
                raise ConfigurationError(
                    f"the default of argument {parameter} of tool {method.__qualname__} is one "
                    "object for all calls: use None or a tuple"
                )
            fields[parameter.name] = NotRequired[hints[parameter.name]]
            self.defaults[parameter.name] = parameter.default
        kind = with_config(ConfigDict(extra="forbid"))(TypedDict("Arguments", fields))  # type: ignore[operator]
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(kind)
        self._schema = self._adapter.json_schema()
        self._names = tuple(fields)

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the arguments to the types of the method.

        Raises:
            ValueError: with a short sentence for the student.
        """
        try:
            given = orjson.dumps(arguments)  # noqa: TID251
        except (TypeError, ValueError) as error:
            raise ValueError(f"the arguments are not plain JSON: {shorten(str(error))}") from None
        if len(given) > _MOST_BYTES:
            raise ValueError(f"the arguments have {len(given):,} bytes, at most {_MOST_BYTES:,}")
        try:
            return self._adapter.validate_json(given, strict=True)
        except ValidationError as error:
            raise ValueError(self._argument_error(error)) from None

    def _argument_error(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        name = shorten(".".join(map(str, first["loc"])))
        if first["type"] == "extra_forbidden":
            expected = ", ".join(self._names) or "none"
            return f"there is no argument {name!r}; the arguments are: {expected}"
        if first["type"] == "missing":
            return f"argument {name!r} is missing"
        return f"argument {name!r} is {shorten(repr(first['input']))}: {first['msg']}"

    def schema(self, descriptions: Mapping[str, str]) -> dict[str, Any]:
        """The JSON schema, with the docstring's description of each argument."""
        schema = _without_titles(self._schema)
        properties = schema.setdefault("properties", {})
        for name, text in descriptions.items():
            if name in properties:
                properties[name]["description"] = text
        for name, default in self.defaults.items():
            properties[name]["default"] = TypeAdapter(Any).dump_python(default, mode="json")
        schema.pop("additionalProperties", None)
        return schema  # type: ignore[no-any-return]


def tool_of(name: str, method: Callable[..., Any], arguments: Arguments) -> Tool:
    """The tool for a method of that name, described by its docstring (Google style)."""
    text = inspect.getdoc(method) or ""
    head = re.split(r"^(?:Args|Returns|Raises):", text, flags=re.MULTILINE)[0]
    return Tool(
        name=name,
        description=" ".join(head.split()),
        parameters=arguments.schema(_descriptions(text)),
    )


def _descriptions(docstring: str) -> dict[str, str]:
    """The descriptions in the section `Args:`: `name: text` or `name (type): text`."""
    section = _ARGUMENTS.search(docstring)
    if section is None:
        return {}
    found: dict[str, str] = {}
    margin, name = None, None
    for line in filter(str.strip, docstring[section.end() :].splitlines()):
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        if not indent:
            break
        if indent <= margin and (entry := _ARGUMENT.match(line.strip())):
            name = entry[1]
            found[name] = entry[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(each) for each in schema] if isinstance(schema, list) else schema
