"""A world that is data: a folder with world.json and problems.jsonl, and no code.

world.json has tables of typed fields, their entries, and tools of five kinds over a table: `list`,
`read`, `add`, `change` and `remove`. `read_world` checks it and makes the class.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from dataenvgym.errors import ConfigurationError
from dataenvgym.storage import read_model
from dataenvgym.tasks.worlds.state import Row, State, Table
from dataenvgym.tasks.worlds.world import ToolError, World, check, tool

WORLD_FILE, PROBLEMS_FILE = "world.json", "problems.jsonl"
WAY_OUT = "correct it, or synthesize the world again in a new folder"
PartT = TypeVar("PartT", bound="Part")
_TYPES: dict[str, Any] = {"text": str, "integer": int, "number": float, "boolean": bool}


def _free_name(name: str) -> str:
    taken = iskeyword(name) or name in ("now", "self", "id", *FolderWorld.__annotations__)
    if taken or any(hasattr(kind, name) for kind in (FolderWorld, State, Row)):
        raise ValueError(f"{name!r} is reserved: choose another name")
    return name


Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,39}$"), AfterValidator(_free_name)]
Scalar = str | bool | int | float


class Part(BaseModel):
    """Data of a world's folder. Strict, as servers that enforce a schema require: all fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Value(Part):
    """The value of a field or an argument."""

    name: str
    value: Scalar


class FieldSpec(Part):
    """A field; `choices` are the only values of a text, empty for any."""

    name: Name
    type: Literal["text", "integer", "number", "boolean"]
    choices: tuple[str, ...]

    @property
    def kind(self) -> Any:
        return Literal[self.choices] if self.choices else _TYPES[self.type]


class TableSpec(Part):
    """A table."""

    name: Name
    fields: tuple[FieldSpec, ...] = Field(min_length=1)


class Entry(Part):
    """A row of a table in the first state."""

    table: str
    id: str = Field(min_length=1)
    values: tuple[Value, ...]


class ToolSpec(Part):
    """A tool.

    Attributes:
        does: what it does with the table; all but `list` and `add` take the id of a row.
        arguments: the fields that the caller gives: of the new row, its new values, or for `list`
            the values to look for.
        sets: fields that get these values.
        only_if: values that the row must have.
    """

    name: Name
    description: str
    does: Literal["list", "read", "add", "change", "remove"]
    table: str
    arguments: tuple[str, ...]
    sets: tuple[Value, ...]
    only_if: tuple[Value, ...]


class WorldSpec(Part):
    """world.json."""

    name: Name
    policy: str
    tables: tuple[TableSpec, ...] = Field(min_length=1)
    entries: tuple[Entry, ...]
    tools: tuple[ToolSpec, ...]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        fields = {table.name: {f.name: f for f in table.fields} for table in self.tables}
        wrong: list[str] = []
        for what, names in (
            ("table", [table.name for table in self.tables]),
            ("tool", [each.name for each in self.tools]),
            ("entry", [f"{each.table}.{each.id}" for each in self.entries]),
        ):
            wrong += [f"{what} {n!r} is there twice" for n in set(names) if names.count(n) > 1]
        parts: tuple[Entry | ToolSpec, ...] = (*self.entries, *self.tools)
        for each in parts:
            is_add = isinstance(each, ToolSpec) and each.does == "add"
            if isinstance(each, ToolSpec):
                what, values = f"tool {each.name!r}", (*each.sets, *each.only_if)
                given = {v.name for v in each.sets} | set(each.arguments)
                twice = [*(v.name for v in each.sets), *each.arguments]
            else:
                what, values = f"entry {each.id!r}", each.values
                given = {v.name for v in values}
                twice = [v.name for v in values]
            wrong += [f"{what}: {n!r} is there twice" for n in given if twice.count(n) > 1]
            if each.table not in fields:
                wrong.append(f"{what}: there is no table {each.table!r}, only {', '.join(fields)}")
                continue
            known = fields[each.table]
            unknown = sorted((given | {v.name for v in values}) - known.keys())
            wrong += [f"{what}: {each.table} has no field {name!r}" for name in unknown]
            if (isinstance(each, Entry) or is_add) and (lacks := known.keys() - given):
                wrong.append(f"{what} lacks {', '.join(sorted(lacks))}")
            if isinstance(each, ToolSpec) and each.does == "change" and not given:
                wrong.append(f"{what} changes nothing: give it arguments or sets")
            for v in values:
                if v.name in known and not _has_type(v.value, known[v.name]):
                    allowed = known[v.name].choices or known[v.name].type
                    wrong.append(f"{what}: {v.name} is {v.value!r}, expected {allowed}")
        if wrong:
            raise ValueError("; ".join(wrong))
        return self


def _has_type(value: Scalar, field: FieldSpec) -> bool:
    if field.choices:
        return value in field.choices
    return type(value) is _TYPES[field.type] or (field.type == "number" and type(value) is int)


class FolderWorld(World[State]):
    """The base of all worlds from folders; `folder` is the place of its files."""

    folder: ClassVar[Path]
    spec: ClassVar[WorldSpec]
    state_kind: ClassVar[type[State]]

    def initial(self) -> State:
        rows: dict[str, dict[str, Any]] = {table.name: {} for table in self.spec.tables}
        for entry in self.spec.entries:
            rows[entry.table][entry.id] = plain(entry.values)
        return self.state_kind.model_validate(rows)

    @check
    def has_value(self, table: str, id: str, field: str, value: Scalar) -> bool:
        """Whether a row is there and has this value."""
        row = getattr(self.state, table).get(id)
        return row is not None and bool(getattr(row, field) == value)


def read_world(folder: str | Path) -> World[Any]:
    """The world of a folder.

    Raises:
        ConfigurationError: naming the file and all that is wrong in it.
    """
    path = Path(folder).absolute() / WORLD_FILE
    kind = world_class(read_model(path, WorldSpec, WAY_OUT, ConfigurationError))
    kind.__qualname__ = "at_" + str(path.parent).encode().hex()  # other processes find it by this
    kind.folder = path.parent
    return kind()


def __getattr__(name: str) -> Any:
    if name.startswith("at_"):
        return type(read_world(bytes.fromhex(name[3:]).decode()))
    raise AttributeError(name)


def world_class(spec: WorldSpec) -> type[FolderWorld]:
    """The class of a world that is data."""
    tables: dict[str, Any] = {}
    members: dict[str, Any] = {}
    for table in spec.tables:
        fields: dict[str, Any] = {f.name: (f.kind, ...) for f in table.fields}
        row = create_model(f"{table.name}_row", __base__=Row, **fields)
        tables[table.name] = (Table[row], Table())  # type: ignore[valid-type]
        members |= {t.name: _method(t, table, row) for t in spec.tools if t.table == table.name}
    state = cast(Any, create_model)(f"{spec.name}_state", __base__=State, **tables)
    own = {"name": spec.name, "policy": spec.policy, "spec": spec, "state_kind": state}
    kind = type(spec.name, (FolderWorld,), {**members, **own, "__module__": __name__})
    return cast(type[FolderWorld], kind)


def _method(spec: ToolSpec, table: TableSpec, row: type[Row]) -> Callable[..., Any]:
    """The tool as a method with a signature."""
    kinds = {f.name: f.kind for f in table.fields}
    sets, needs = plain(spec.sets), plain(spec.only_if)

    def run(self: World[Any], **given: Any) -> Any:
        rows = getattr(self.state, spec.table)
        if spec.does == "list":
            wanted = {**needs, **{n: v for n, v in given.items() if v is not None}}
            found = rows.items()
            return {k: r for k, r in found if all(getattr(r, n) == v for n, v in wanted.items())}
        if spec.does == "add":
            new = rows.new_id(spec.table)
            rows[new] = row(**given, **sets)
            return f"{new} is added"
        key = given.pop("id")
        if key not in rows:
            raise ToolError(f"there is no {key} in {spec.table}")
        for name, value in needs.items():
            if (is_now := getattr(rows[key], name)) != value:
                raise ToolError(f"{name} of {key} is {is_now}, not {value}")
        if spec.does == "read":
            return rows[key]
        if spec.does == "remove":
            del rows[key]
            return f"{key} is removed"
        rows[key] = rows[key].changed(**given, **sets)
        return f"{key} is changed"

    hints = {} if spec.does in ("list", "add") else {"id": str}
    optional = spec.does == "list"
    for name in spec.arguments:
        hints[name] = kinds[name] | None if optional else kinds[name]
    word = inspect.Parameter
    default = None if optional else word.empty
    parameters = [word("self", word.POSITIONAL_OR_KEYWORD)]
    parameters += [word(n, word.KEYWORD_ONLY, default=default) for n in hints]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = hints
    run.__name__ = run.__qualname__ = spec.name
    run.__doc__ = spec.description
    return tool(writes=spec.does in ("add", "change", "remove"))(run)


def plain(values: tuple[Value, ...]) -> dict[str, Scalar]:
    """The values by name."""
    return {value.name: value.value for value in values}
