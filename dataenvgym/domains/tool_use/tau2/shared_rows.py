"""Database rows that the forks of an environment share.

tau2's databases hold several megabytes of tables, as dicts of pydantic models, and its tools change
rows in place. So a fork shares each row until the row is read, and then gets a copy.
"""

from __future__ import annotations

import copy
from collections.abc import ItemsView, Iterator, ValuesView
from typing import Any


class SharedRows(dict[Any, Any]):
    """A dict whose deep copies share its values until they are read.

    Code that reads the dict's memory directly, such as pydantic's serializer, sees the right
    values, and must not change them.
    """

    def __init__(self, rows: Any = ()) -> None:
        super().__init__(rows)
        self._own: set[Any] = set()

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedRows:
        self._own.clear()  # from now on both share these values
        twin = SharedRows(dict.items(self))
        memo[id(self)] = twin
        return twin

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        if key not in self._own:
            value = copy.deepcopy(value)
            self[key] = value
        return value

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self._own.add(key)

    # --- other methods that read values; each goes through `__getitem__` ---

    def __iter__(self) -> Iterator[Any]:  # makes dict(rows) and {**rows} read each item
        return super().__iter__()

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def values(self) -> Any:
        return ValuesView(self)

    def items(self) -> Any:
        return ItemsView(self)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        if key in self:
            self[key]
        return super().pop(key, *default)

    def popitem(self) -> tuple[Any, Any]:
        key = next(reversed(self), None)
        return key, self.pop(key)

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def update(self, *others: Any, **more: Any) -> None:
        for key, value in dict(*others, **more).items():
            self[key] = value


def share_rows(database: Any) -> None:
    """Let deep copies of a database share the rows of its tables."""
    for name, value in vars(database).items():
        if type(value) is dict:
            database.__dict__[name] = SharedRows(value)
