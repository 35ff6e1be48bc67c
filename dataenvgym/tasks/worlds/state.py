"""The state of a world: usually a pydantic model that is forked in constant time.

A `Table` holds rows by id. Forks share its rows and keep their own changes, so a fork of 10,000
rows costs as much as one of 100. Rows are immutable: a change replaces the row.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Protocol,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import core_schema

from dataenvgym.errors import ConfigurationError

_SCALARS = (str, bytes, int, float, bool, NoneType, date, datetime, time, timedelta, Decimal, Enum)


class WorldState(Protocol):
    """The state of a world: a `State`, or an object around a live simulator.

    Equal states (`==`) are the same to a score.
    """

    def fork(self) -> Self:
        """A copy with its own later changes."""
        ...

    def digest(self) -> str:
        """A hash, the same for equal states, in every process."""
        ...


class Row(BaseModel):
    """One row of a `Table`: frozen, with fields that cannot change in place.

    Change one with `table[id] = row.changed(status="paid")`.

    Raises:
        ConfigurationError: when the class is defined, for a field such as `list[str]`, or a class
            that is not frozen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        if not cls.model_config.get("frozen"):
            raise ConfigurationError(
                f"{cls.__name__} is not frozen, and forks of a state share their rows: leave "
                "`frozen` out of its model_config"
            )
        for name, field in cls.model_fields.items():
            if not _is_immutable(field.annotation):
                raise ConfigurationError(
                    f"field {name!r} of {cls.__name__} is {field.annotation}, expected a type whose"
                    " values cannot change in place: use tuple[...] for a list, a Row for a dict"
                )

    def changed(self, **changes: Any) -> Self:
        """A copy of the row with other values.

        Raises:
            ValueError: if a field does not exist, or a value has the wrong type.
        """
        return type(self).model_validate({**self.__dict__, **changes})


RowT = TypeVar("RowT", bound=Row)
_new, _set = object.__new__, object.__setattr__


class Table(MutableMapping[str, RowT], Generic[RowT]):
    """Rows by id, copied on write."""

    __slots__ = ("_base", "_changes")

    def __init__(self, rows: Mapping[str, RowT] | None = None) -> None:
        self._base: dict[str, RowT] = dict(rows or {})  # shared with forks: never changed
        self._changes: dict[str, RowT | None] = {}  # None: deleted

    def fork(self) -> Table[RowT]:
        """A table with the same rows and its own later changes."""
        twin: Table[RowT] = object.__new__(Table)
        twin._base = self._base
        twin._changes = self._changes.copy()
        return twin

    def settled(self) -> Table[RowT]:
        """The same table, cheap to fork because it has few changes of its own."""
        few = len(self._changes) <= len(self._base) // 4
        return self if few else Table(dict(self))

    def new_id(self, prefix: str) -> str:
        """A free id, such as "order_7"; equal tables give the same one."""
        number = len(self) + 1
        while f"{prefix}_{number}" in self:
            number += 1
        return f"{prefix}_{number}"

    def __getitem__(self, key: str) -> RowT:
        row = self._changes[key] if key in self._changes else self._base[key]
        if row is None:
            raise KeyError(key)
        return row

    def __setitem__(self, key: str, row: RowT) -> None:
        if not isinstance(row, Row):
            raise TypeError(f"a table holds rows, got {type(row).__name__}")
        self._changes[key] = row

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        if key in self._base:
            self._changes[key] = None
        else:
            del self._changes[key]

    def __contains__(self, key: object) -> bool:
        if key in self._changes:
            return self._changes[key] is not None
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows())

    def items(self) -> ItemsView[str, RowT]:
        """The present ids and rows; later changes do not affect them."""
        return self._rows().items()

    def values(self) -> ValuesView[RowT]:
        """The present rows; later changes do not affect them."""
        return self._rows().values()

    def _rows(self) -> dict[str, RowT]:
        if not self._changes:
            return self._base
        rows: dict[str, Any] = self._base | self._changes
        for key, row in self._changes.items():
            if row is None:
                del rows[key]
        return rows

    def __len__(self) -> int:
        deleted = sum(row is None for row in self._changes.values())
        added = sum(key not in self._base for key in self._changes)
        return len(self._base) + added - deleted

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self._base is other._base:
            if self._changes == other._changes:
                return True
            changed = self._changes.keys() | other._changes.keys()
            return all(self.get(key) == other.get(key) for key in changed)
        return dict(self) == dict(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Table({len(self)} rows)"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        (row,) = get_args(source) or (Row,)
        rows = handler(dict[str, row])  # type: ignore[valid-type]
        return core_schema.no_info_wrap_validator_function(
            lambda given, read: given if isinstance(given, cls) else cls(read(given)),
            rows,
            serialization=core_schema.plain_serializer_function_ser_schema(
                dict, return_schema=rows
            ),
        )


class State(BaseModel):
    """The facts of a world; subclasses have fields, mostly `Table`s.

    Assigned values are checked against the field's type.

    Attributes:
        now: the world's clock. Only tools change it.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True)

    now: datetime = datetime(2026, 1, 5, 9, 0)

    _tables: ClassVar[tuple[str, ...]] = ()
    _copied: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        cls._tables = tuple(n for n, kind in kinds.items() if (get_origin(kind) or kind) is Table)
        cls._copied = tuple(
            name
            for name, kind in kinds.items()
            if name not in cls._tables and not _is_immutable(kind)
        )

    def fork(self) -> Self:
        """A copy of the state with its own later changes.

        Tables are forked in constant time; lists, dicts and the like are copied.
        """
        values = self.__dict__.copy()
        for name in self._tables:
            values[name] = values[name].fork()
        for name in self._copied:
            values[name] = copy.deepcopy(values[name])
        twin = _new(type(self))
        _set(twin, "__dict__", values)
        _set(twin, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        _set(twin, "__pydantic_extra__", None)
        private = self.__pydantic_private__
        _set(twin, "__pydantic_private__", private and copy.deepcopy(private))
        return twin

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        theirs = other.__dict__
        for name, value in self.__dict__.items():
            if (found := theirs.get(name)) is not value and found != value:
                return False
        return self.__pydantic_private__ == other.__pydantic_private__

    def equals(self, other: State, *, but: Collection[str]) -> bool:
        """Whether the states are equal except for fields, and rows such as `orders.order_1`."""
        one, two = self.fork(), other.fork()
        for part in sorted(but, reverse=True):  # the rows of a table before the whole of it
            name, _, row = part.partition(".")
            for state in (one, two):
                if row:
                    state.__dict__[name].pop(row, None)
                else:
                    state.__dict__[name] = None
        return one == two

    def settled(self) -> Self:
        """The same state, cheap to fork; call it after `initial` or a tool built it row by row."""
        twin = self.fork()
        twin.__dict__.update({name: twin.__dict__[name].settled() for name in self._tables})
        return twin

    def patched(self, changes: Mapping[str, Any]) -> Self:
        """A copy with some fields set; in tables, with some rows set (None deletes one).

        Raises:
            pydantic.ValidationError: naming the field.
            KeyError: for a field or row that does not exist.
        """
        state = self.fork()
        for name, value in changes.items():
            if name not in type(self).model_fields:
                raise KeyError(name)
            if name in self._tables and isinstance(value, Mapping):
                whole = {name: {key: row for key, row in value.items() if row is not None}}
                read = type(self).model_validate({**self.__dict__, **whole}).__dict__[name]
                table = self.__dict__[name].fork()
                for key, row in value.items():
                    if row is None:
                        del table[key]
                    else:
                        table[key] = read[key]
                value = table
            setattr(state, name, value)
        return state.settled()

    def digest(self) -> str:
        """A hash of the whole state, the same for equal states: 5 and 5.0 are equal."""
        return digest_of(self.model_dump(warnings=False))


def _is_immutable(kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Annotated:
        return _is_immutable(get_args(kind)[0])
    if origin in (Union, UnionType, tuple, frozenset):
        return all(each is ... or _is_immutable(each) for each in get_args(kind))
    if origin is Literal:
        return True
    return isinstance(kind, type) and issubclass(kind, (*_SCALARS, Row))


def digest_of(value: Any) -> str:
    """SHA-256 in hexadecimal, the same for equal plain values: 5, 5.0 and Decimal("5.00").

    Also the same in every process.
    """
    text = json.dumps(_canonical(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if type(value) in (str, int, NoneType):
        return value
    if isinstance(value, Enum):
        return _canonical(value.value)
    if isinstance(value, float | Decimal):
        if isfinite(value) and value == int(value):
            return int(value)
        return str(value.normalize() if isinstance(value, Decimal) else value)
    if isinstance(value, Mapping):
        return {
            key if type(key) is str else "\0" + json.dumps(_canonical(key)): _canonical(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_canonical(each), sort_keys=True) for each in value)
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, int):  # True is 1
        return int(value)
    return value if isinstance(value, str | NoneType) else str(value)
