"""The check of what a task's `load` returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import TaskInstance, check_ids


def checked_instances(loaded: Any, where: str) -> tuple[TaskInstance, ...]:
    """The instances that a task's `load` returned.

    Raises:
        InvalidInstanceError: if there are none, two have the same id, or it is something else.
    """
    if isinstance(loaded, str | bytes | Mapping) or not isinstance(loaded, Iterable):
        raise InvalidInstanceError(
            f"{where}: load() returned {_shown(loaded)}, expected a sequence of TaskInstance"
        )
    instances = tuple(loaded)
    for i, instance in enumerate(instances):
        if not isinstance(instance, TaskInstance):
            raise InvalidInstanceError(
                f"{where}: item {i} of load() is {_shown(instance)}, expected a TaskInstance: "
                "TaskInstance(id=..., task=self.name, instruction=..., answer=...)"
            )
    if not instances:
        raise InvalidInstanceError(f"{where}: there are no instances, expected at least one")
    check_ids(instances, where)
    return instances


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
