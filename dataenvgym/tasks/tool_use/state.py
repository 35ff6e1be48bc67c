"""The state of a world: a pydantic model that is forked in constant time.

A `Table` holds rows by id. Forks share its rows and keep their own changes, so a fork costs as much
with 10,000 rows as with 100. Rows are immutable: a change replaces the row.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import core_schema

from dataenvgym.errors import ConfigurationError

_SCALARS = (str, int, float, bool, NoneType, date, datetime, time, timedelta, Decimal, Enum)


class Row(BaseModel):
    """One row of a `Table`: frozen, with fields that cannot change in place.

    Change one with `table[id] = row.changed(status="paid")`.

    Raises:
        ConfigurationError: when the class is defined, for a field such as `list[str]`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        for name, field in cls.model_fields.items():
            if not _is_immutable(field.annotation):
                raise ConfigurationError(
                    f"field {name!r} of {cls.__name__} is {field.annotation}, expected a type whose"
                    " values cannot change in place: use tuple[...] for a list, a Row for a dict"
                )

    def changed(self, **changes: Any) -> Self:
        """The row with other values.

        Raises:
            ValueError: if there is no such field, or a value is of another type.
        """
        return type(self).model_validate({**self.__dict__, **changes})


RowT = TypeVar("RowT", bound=Row)


class Table(MutableMapping[str, RowT], Generic[RowT]):
    """Rows by id, copy on write."""

    __slots__ = ("_base", "_changes")

    def __init__(
        self, rows: Mapping[str, RowT] | None = None, _changes: dict[str, RowT | None] | None = None
    ) -> None:
        self._base: Mapping[str, RowT] = {} if rows is None else rows
        self._changes = {} if _changes is None else _changes  # None: deleted

    def fork(self) -> Table[RowT]:
        """A table with the same rows, whose changes are its own."""
        return Table(self._base, self._changes.copy())

    def new_id(self, prefix: str) -> str:
        """An id that is free, such as "order_7"; the same one in equal tables."""
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
        if not self._changes:
            yield from self._base
            return
        yield from (key for key in self._base if self._changes.get(key, True) is not None)
        yield from (key for key in self._changes if key not in self._base)

    def __len__(self) -> int:
        deleted = sum(row is None for row in self._changes.values())
        added = sum(key not in self._base for key in self._changes)
        return len(self._base) + added - deleted

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        if self._base is other._base:
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
        rows = core_schema.no_info_after_validator_function(cls, handler(dict[str, row]))  # type: ignore[valid-type]
        return core_schema.json_or_python_schema(
            json_schema=rows,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), rows]),
            serialization=core_schema.plain_serializer_function_ser_schema(
                dict,
                return_schema=handler(dict[str, row]),  # type: ignore[valid-type]
            ),
        )


class State(BaseModel):
    """What is true in a world; subclasses have fields, `Table`s above all.

    Attributes:
        now: the world's clock. It stands still unless a tool moves it.
    """

    model_config = ConfigDict(extra="forbid")

    now: datetime = datetime(2026, 1, 5, 9, 0)

    _tables: ClassVar[tuple[str, ...]] = ()
    _copied: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        cls._tables = tuple(name for name, kind in kinds.items() if get_origin(kind) is Table)
        cls._copied = tuple(
            name
            for name, kind in kinds.items()
            if name not in cls._tables and not _is_immutable(kind)
        )

    def fork(self) -> Self:
        """The same state, whose changes are its own.

        Tables are forked in constant time; lists, dicts and the like are copied.
        """
        values = self.__dict__.copy()
        for name in self._tables:
            values[name] = values[name].fork()
        for name in self._copied:
            values[name] = copy.deepcopy(values[name])
        twin = type(self).__new__(type(self))
        object.__setattr__(twin, "__dict__", values)
        object.__setattr__(twin, "__pydantic_fields_set__", self.__pydantic_fields_set__)
        object.__setattr__(twin, "__pydantic_extra__", None)
        object.__setattr__(twin, "__pydantic_private__", None)
        return twin

    def patched(self, changes: Mapping[str, Any]) -> Self:
        """The state with some fields set; in tables, with some rows set (None deletes one).

        Raises:
            pydantic.ValidationError: naming the field.
            KeyError: for a field or a row that there is not.
        """
        state = self.fork()
        for name, value in changes.items():
            if name not in type(self).model_fields:
                raise KeyError(name)
            if name in self._tables and isinstance(value, Mapping):
                value = self._patched_table(name, value)
            type(self).__pydantic_validator__.validate_assignment(state, name, value)
        return state

    def _patched_table(self, name: str, rows: Mapping[str, Any]) -> Table[Any]:
        table: Table[Any] = self.__dict__[name].fork()
        whole = {key: row for key, row in rows.items() if row is not None}
        field = {name: whole}
        read = type(self).model_validate({**self.__dict__, **field}).__dict__[name]
        for key in rows:
            if rows[key] is None:
                del table[key]
            else:
                table[key] = read[key]
        return table

    def digest(self) -> str:
        """A hash of the whole state, the same for equal states: 5 and 5.0 are."""
        text = json.dumps(_canonical(self.model_dump(mode="json")), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _canonical(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return value


def _is_immutable(kind: Any) -> bool:
    origin = get_origin(kind)
    if origin is Annotated:
        return _is_immutable(get_args(kind)[0])
    if origin in (Union, UnionType, tuple, frozenset):
        return all(each is ... or _is_immutable(each) for each in get_args(kind))
    if origin is Literal:
        return True
    return isinstance(kind, type) and issubclass(kind, (*_SCALARS, Row))
