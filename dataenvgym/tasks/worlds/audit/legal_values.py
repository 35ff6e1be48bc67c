"""Arguments that a student might use: from a tool's JSON schema and the values in a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from dataenvgym.records import Tool, ToolCall
from dataenvgym.tasks.worlds.state import State

NOTHING = object()
"""Instead of a value: the argument is left out."""

_DEEPEST = 4
_INTEGERS = (0, 1, -1, 30, 10**9, 2**31, -(2**31), 2**53, 2**63 - 1, -(2**63))
_FLOATS = (0.1, -0.0, 5e-324, 1e15, 1e18, 1.7e308, -1.7e308)
_DATES = ("0001-01-01", "9999-12-31", "1970-01-01", "2026-02-28", "2026-02-30", "10000-01-01")
_CLOCKS = ("T00:00", "T23:59:59.999999", "T00:00:00Z", "T00:00:00+23:59", "T23:59:00-23:59")
_TEXTS = ("", " ", "no_such_id", "0", "\x00", "\u0130", "\u202e", "../..", "x" * 5000, "{0}", "NaN")


class LegalValues:
    """Values for the arguments of tools.

    Args:
        state: the ids of its tables, and the values of its fields by name, are candidates.
    """

    def __init__(self, state: State) -> None:
        self._ids: list[list[str]] = []
        self._fields: dict[str, list[Any]] = {}
        self._known: dict[tuple[str, str], list[Any]] = {}
        for name, value in state.model_dump(mode="json", warnings=False).items():
            if isinstance(value, dict):
                self._ids.append(list(value))
            self._collect(name, value)
        texts = dict.fromkeys(v for values in self._fields.values() for v in values)
        self._moments = list(filter(None, map(_moment, texts)))

    @property
    def listed(self) -> str:
        """All ids and values of the state in one line."""
        ids = (key for keys in self._ids for key in keys)
        values = (str(value) for values in self._fields.values() for value in values)
        return ", ".join(dict.fromkeys((*ids, *values)))

    def draw(self, tool: Tool, rng: Random) -> ToolCall:
        """A random call of a tool; each optional argument is present half of the time."""
        properties, required = _arguments(tool)
        chosen = (name for name in properties if name in required or rng.random() < 0.5)
        given = {name: rng.choice(self.candidates(tool, name) or [None]) for name in chosen}
        return ToolCall(name=tool.name, arguments=given)

    def changes(self, tool: Tool, call: ToolCall) -> Iterator[tuple[str, ToolCall]]:
        """Copies of the call with one argument changed, and its name: close values first."""
        properties, required = _arguments(tool)
        for name in properties:
            value = call.arguments.get(name, properties[name].get("default", NOTHING))
            others = self.candidates(tool, name, value)
            if name in call.arguments and name not in required:
                others = [NOTHING, *others]
            for other in others:
                changed = {**call.arguments, name: other}
                yield (
                    name,
                    call.model_copy(
                        update={"arguments": {k: v for k, v in changed.items() if v is not NOTHING}}
                    ),
                )

    def candidates(self, tool: Tool, argument: str, near: Any = NOTHING) -> list[Any]:
        """Values for an argument other than `near`; those close to it come first."""
        key = tool.name, argument
        if near is NOTHING and key in self._known:
            return self._known[key]
        schema = tool.parameters["properties"][argument]  # type: ignore[index, call-overload]
        found = self._values(schema, argument, near, tool.parameters.get("$defs", {}), 0)
        values = list({repr(value): value for value in found if value != near}.values())
        if near is NOTHING:
            self._known[key] = values
        return values

    def _values(
        self, schema: Any, name: str, near: Any, definitions: Any, depth: int
    ) -> Iterator[Any]:
        if depth > _DEEPEST:
            return
        again = definitions, depth + 1
        if reference := schema.get("$ref"):
            yield from self._values(definitions[reference.split("/")[-1]], name, near, *again)
        elif options := schema.get("anyOf") or schema.get("oneOf"):
            for option in options:
                yield from self._values(option, name, near, *again)
        elif "const" in schema or "enum" in schema:
            yield from schema.get("enum", [schema.get("const")])
        elif (kind := schema.get("type")) == "array":
            yield from self._lists(schema, name, near, *again)
        elif kind == "object":
            yield from self._objects(schema, near, *again)
        elif kind == "boolean":
            yield from (True, False)
        elif kind == "null":
            yield None
        elif kind in ("integer", "number"):
            yield from self._numbers(kind, name, near)
        elif schema.get("format") in ("date", "date-time"):
            yield from self._times(schema["format"], near)
        else:
            yield from self._texts(name, near)

    def _numbers(self, kind: str, name: str, near: Any) -> Iterator[int | float]:
        kinds = (int,) if kind == "integer" else (int, float)
        if isinstance(near, int | float):
            yield from (near + 1, near - 1, near * 2)
        known = [*self._fields.get(name, ()), *(v for vs in self._fields.values() for v in vs)]
        yield from (v for v in known if isinstance(v, kinds) and not isinstance(v, bool))
        yield from (1, 2, 3, 5, 10, 30)

    def _times(self, kind: str, near: Any) -> Iterator[str]:
        read = date.fromisoformat if kind == "date" else datetime.fromisoformat
        step = timedelta(days=1) if kind == "date" else timedelta(minutes=30)
        if isinstance(near, str):
            yield from ((read(near) + n * step).isoformat() for n in (1, -1, 7))
        for moment in self._moments:
            for day in (0, 1, 3):
                later = moment + timedelta(days=day)
                yield (later.date() if kind == "date" else later).isoformat()

    def _texts(self, name: str, near: Any) -> Iterator[str]:
        same_field = [v for v in self._fields.get(name, ()) if isinstance(v, str)]
        if isinstance(near, str):
            yield from (key for ids in self._ids if near in ids for key in ids)
            yield from same_field
            yield from (f"{near} 2", near[:-1])
            return
        stem = name.removesuffix("_id")
        named = [key for ids in self._ids for key in ids if key.startswith(f"{stem}_")]
        yield from named or same_field
        if not named and not same_field:
            yield from (key for ids in self._ids for key in ids)

    def _lists(
        self, schema: Any, name: str, near: Any, definitions: Any, depth: int
    ) -> Iterator[list[Any]]:
        items = list(self._values(schema.get("items", {}), name, NOTHING, definitions, depth))
        known = near if isinstance(near, list) else []
        yield from ([*known, item] for item in items if item not in known)
        yield known[:-1]
        yield []

    def _objects(
        self, schema: Any, near: Any, definitions: Any, depth: int
    ) -> Iterator[dict[str, Any]]:
        fields = schema.get("properties", {})
        known = dict(near) if isinstance(near, dict) else {}
        values = {
            name: list(self._values(field, name, known.get(name, NOTHING), definitions, depth))
            for name, field in fields.items()
        }
        whole = {name: found[0] for name, found in values.items() if found} | known
        yield from ({**whole, name: v} for name, found in values.items() for v in found)

    def _collect(self, name: str, value: Any) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                self._collect(key, each)
        elif isinstance(value, list):
            for each in value:
                self._collect(name, each)
        elif value is not None:
            self._fields.setdefault(name, []).append(value)


class ExtremeValues(LegalValues):
    """Extreme values for the arguments of tools, among legal ones.

    Half of the texts are known, so that calls reach the code behind the look-up of an id.
    """

    def _numbers(self, kind: str, name: str, near: Any) -> Iterator[int | float]:
        yield from _INTEGERS
        if kind == "number":
            yield from _FLOATS

    def _times(self, kind: str, near: Any) -> Iterator[str]:
        for day in _DATES:
            yield from (day,) if kind == "date" else (day + clock for clock in _CLOCKS)

    def _texts(self, name: str, near: Any) -> Iterator[str]:
        yield from (*_TEXTS, *_DATES[:2])
        yield from list(super()._texts(name, near))[: len(_TEXTS)]

    def _lists(
        self, schema: Any, name: str, near: Any, definitions: Any, depth: int
    ) -> Iterator[list[Any]]:
        items = list(self._values(schema.get("items", {}), name, near, definitions, depth))
        yield []
        yield items
        yield from ([item] * times for item in items for times in (1, 500))


def _arguments(tool: Tool) -> tuple[Mapping[str, Any], Sequence[str]]:
    parameters: Any = tool.parameters
    return parameters.get("properties", {}), parameters.get("required", ())


def _moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
