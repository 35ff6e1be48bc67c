"""Copies a function's changes to its arguments from the candidate's copies to the originals.

Lists, dicts and other containers in the arguments are numbered alike in both processes. After the
call, each container whose items changed is sent as `[number, items, places, keys]`. `places` says
which of the items are containers with a number, as `[index, number]`, so that items that were the
same object still are.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from dataenvgym.domains.code.harness import plain

_CONTAINERS = (list, dict, set, bytearray, deque)


class Before:
    """Arguments before a call that may change them."""

    def __init__(self, arguments: Any):
        self._containers = _containers(arguments)
        self._copies = [container.copy() for container in self._containers]

    def changes(self) -> list[list[Any]]:
        """The changes since."""
        numbers = {id(container): number for number, container in enumerate(self._containers)}
        told = []
        for container, copy in zip(self._containers, self._copies, strict=True):
            if _holds_the_same(container, copy):
                continue
            is_dict = isinstance(container, dict)
            items = list(container.values() if is_dict else container)
            places = [
                [index, numbers[id(item)]]
                for index, item in enumerate(items)
                if isinstance(item, _CONTAINERS) and id(item) in numbers
            ]
            for index, _ in places:
                items[index] = None
            keys = list(container) if is_dict else []
            told.append([numbers[id(container)], items, places, keys])
        return told


def put_back(arguments: Any, changes: Any) -> None:
    """Change the arguments as their copies have changed.

    Raises:
        TypeError, ValueError, LookupError: if the changes do not fit these arguments.
    """
    found = _containers(arguments)
    for number, items, places, keys in changes:
        container = found[number]
        for index, inner in places:
            items[index] = found[inner]
        if isinstance(container, list | bytearray):
            container[:] = items
            continue
        container.clear()
        if isinstance(container, dict):
            for key, item in zip(keys, items, strict=True):
                container[key] = item
        elif isinstance(container, set):
            container.update(items)
        else:
            container.extend(items)


def _containers(value: Any) -> list[Any]:
    """The containers in a value, in their order."""
    found: list[Any] = []
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, _CONTAINERS):
            found.append(value)
        if isinstance(value, dict):
            inner: Any = dict.values(value)
        elif isinstance(value, list | tuple | deque):
            inner = value
        elif plain.is_array(value):
            inner = [value.tolist()]  # as it arrives on the other side
        else:
            continue
        if not plain.are_scalars(inner):
            left += reversed(list(inner))
    return found


def _holds_the_same(one: Any, other: Any) -> bool:
    """Whether two containers hold the same objects, in the same order."""
    if isinstance(one, dict):
        return _holds_the_same([*one], [*other]) and _holds_the_same(
            [*one.values()], [*other.values()]
        )
    if isinstance(one, list | deque):
        return len(one) == len(other) and all(map(operator.is_, one, other))
    return bool(one == other)
