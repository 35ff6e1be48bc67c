"""A problem with its world, ready to be posed many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import TaskInstance, Tool
from dataenvgym.tasks.tool_use.problem import ToolUseProblem, check_fits, problem_of
from dataenvgym.tasks.tool_use.state import State
from dataenvgym.tasks.tool_use.world import Seat, World

_MOST = 20_000  # problems that are kept


@dataclass(frozen=True)
class Prepared:
    """A problem that its world can pose.

    Attributes:
        world: before any calls; `world.at(state.fork())` gives each conversation its own.
    """

    problem: ToolUseProblem
    world: World[Any]

    @property
    def state(self) -> State:
        """The first state of the conversation; not to be changed."""
        state: State = self.world.state
        return state

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The assistant's tools."""
        return self.world.tools()

    @cached_property
    def gold_state(self) -> State:
        """The state after the gold calls; not to be changed.

        For a world that does not show its state, it is the first state, and no calls are made.

        Raises:
            InvalidInstanceError: if a gold call fails.
        """
        if not self.world.shows_state:
            return self.state
        world = self.world.at(self.state.fork())
        plans: tuple[tuple[str, Seat], ...] = (("gold", "assistant"), ("user_gold", "user"))
        for field, by in plans:
            for number, call in enumerate(getattr(self.problem, field)):
                result = world.call(call, by)
                if result.error is not None:
                    raise InvalidInstanceError(
                        f"field {field}.{number}: the call of {call.name} fails: {result.error}"
                    )
        return world.state  # type: ignore[no-any-return]


class Preparation:
    """Prepares each problem of one world once."""

    def __init__(
        self,
        world: World[Any],
        kind: type[ToolUseProblem] = ToolUseProblem,
        prepared: type[Prepared] = Prepared,
    ) -> None:
        self._world, self._kind, self._as = world, kind, prepared
        self._prepared: dict[str, tuple[TaskInstance, Prepared]] = {}

    def __call__(self, instance: TaskInstance) -> Prepared:
        """The instance's problem with its world.

        Raises:
            InvalidInstanceError: if it is malformed, or the world cannot pose it.
        """
        known = self._prepared.get(instance.id)
        if known is not None and known[0] is instance:
            return known[1]
        problem = problem_of(instance, self._kind)
        world = self._world
        try:
            check_fits(problem, world)
        except ValueError as error:
            raise InvalidInstanceError(f"instance {instance.id!r}: {error}") from None
        prepared = self._as(problem, world.at(world.state.patched(problem.state)))
        if len(self._prepared) >= _MOST:
            self._prepared.clear()
        self._prepared[instance.id] = instance, prepared
        return prepared
