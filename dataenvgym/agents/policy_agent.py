"""The base of agents made of a policy and an engine: keeps a seed and counts iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

from pydantic import JsonValue

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Stateful

PolicyT = TypeVar("PolicyT")
EngineT = TypeVar("EngineT")


class PolicyAgent(Generic[PolicyT, EngineT]):
    """An agent whose random choices all derive from `seed` and the iteration.

    So its state is the iteration, and the states of its stateful `parts`.

    Attributes:
        parts: names of the attributes with its parts, and the protocol of each.
    """

    parts: ClassVar[Mapping[str, type]]

    def __init__(
        self,
        policy: PolicyT,
        engine: EngineT,
        *,
        name: str,
        records_per_iteration: int = 300,
        seed: int = 0,
    ) -> None:
        if records_per_iteration < 1:
            raise ConfigurationError(
                f"records_per_iteration is {records_per_iteration}, expected 1 or more"
            )
        self.policy = policy
        self.engine = engine
        self.name = name
        self.records_per_iteration = records_per_iteration
        self.seed = seed
        self.iteration = 1

    def step(self) -> None:
        self.iteration += 1

    def state_dict(self) -> dict[str, JsonValue]:
        state: dict[str, JsonValue] = {"iteration": self.iteration}
        for name, part in self._stateful():
            state[name] = part.state_dict()
        return state

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        iteration = state["iteration"]
        assert isinstance(iteration, int)
        self.iteration = iteration
        for name, part in self._stateful():
            if isinstance(saved := state.get(name), dict):
                part.load_state_dict(saved)

    def _stateful(self) -> list[tuple[str, Stateful]]:
        parts = ((name, getattr(self, name)) for name in self.parts)
        return [(name, part) for name, part in parts if isinstance(part, Stateful)]
