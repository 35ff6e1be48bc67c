"""A problem with its world, ready to be put many times."""

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
    """A problem that its world can put.

    Attributes:
        world: as it is before anybody has called anything; `world.at(state.fork())` is one's own.
    """

    problem: ToolUseProblem
    world: World[Any]

    @property
    def state(self) -> State:
        """The state that the conversation begins with; not to be changed."""
        state: State = self.world.state
        return state

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The assistant's tools."""
        return self.world.tools()

    @cached_property
    def gold_state(self) -> State:
        """The state after the gold calls; not to be changed.

        A world that does not show its state is not asked: the state is that of the beginning.

        Raises:
            InvalidInstanceError: if one of them fails.
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
    """Prepares the problems of one world, each once."""

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
            InvalidInstanceError: if it is malformed, or the world cannot put it.
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
