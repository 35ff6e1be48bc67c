"""The two parts of a task, source and domain, and checks of what they give.

A task class may define `load` instead of a source, and `make_environment` instead of a domain;
`TaskAsDomain` is then its domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError, InvalidInstanceError, shorten
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import TaskEnvironment
from dataenvgym.tasks.prompt_template import PromptTemplate, template_read_off

if TYPE_CHECKING:
    from dataenvgym.tasks.base import Task


def check_parts(own: type[Task], base: type[Task], source: Any, domain: Any) -> None:
    """Refuse parts that are missing or given twice.

    Args:
        own: the class of the task.
        base: `Task`, whose methods `own` may override.
        source, domain: of the task, or None.

    Raises:
        ConfigurationError: naming the part, and what to do.
    """
    if source is None and own.load is base.load:
        raise _missing(own, "source", "load(split)")
    no_domain = domain is None and own.domain is base.domain
    if no_domain and own.make_environment is base.make_environment:
        raise _missing(own, "domain", "make_environment()")
    named: Any = own.domain
    if named is not base.domain and domain is not None:
        raise ConfigurationError(
            f"{own.__name__} has a domain of its own, {shorten(repr(named))}, and is given "
            f"another one, {shorten(repr(domain))}: leave one of the two out"
        )


class TaskAsDomain(Domain):
    """The domain of a task that has none, but makes its environments itself."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @cached_property
    def prompt_template(self) -> PromptTemplate:  # type: ignore[override]
        """The text around the instructions in the prompts of the task's first two problems."""
        task = self._task
        instances = task.instances[:2] if task.offers("instances", "make_environment") else ()
        return template_read_off(self.make_environment, instances)

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> TaskEnvironment:
        environment = self._task.make_environment()
        if not getattr(environment, "others", True):  # a rollout gives them, too
            environment.others = self._task.others
        return environment


def _missing(task: type[Task], part: str, method: str) -> ConfigurationError:
    return ConfigurationError(
        f"{task.__name__} has no {part}: pass one to Task.__init__ ({part}=...), or give the class "
        f"a method `{method}`"
    )


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
            f"{where}: {what} is {shorten(repr(found))}, expected a sequence of TaskInstance"
        )
    instances = tuple(found)
    for i, instance in enumerate(instances):
        if not isinstance(instance, TaskInstance):
            raise InvalidInstanceError(
                f"{where}: item {i} of {what} is {shorten(repr(instance))}, expected a "
                "TaskInstance: TaskInstance(id=..., task=self.name, instruction=..., answer=...)"
            )
    return instances
