"""Checks the problems that a task or its user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import TaskInstance


def checked_instances(found: Any, where: str, what: str) -> tuple[TaskInstance, ...]:
    """Check that the objects are problems, and return them.

    Args:
        where, what: name them in messages.

    Raises:
        InvalidInstanceError: if they are not.
    """
    # a pydantic model can be iterated over, too
    if isinstance(found, str | bytes | Mapping | BaseModel) or not isinstance(found, Iterable):
        raise InvalidInstanceError(
            f"{where}: {what} is {shown(found)}, expected a sequence of TaskInstance"
        )
    instances = tuple(found)
    for i, instance in enumerate(instances):
        if not isinstance(instance, TaskInstance):
            raise InvalidInstanceError(
                f"{where}: item {i} of {what} is {shown(instance)}, expected a TaskInstance: "
                "TaskInstance(id=..., task=self.name, instruction=..., answer=...)"
            )
    return instances


def shown(value: Any) -> str:
    """The value, cut to fit a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
