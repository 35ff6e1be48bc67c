"""The interfaces of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from pydantic import JsonValue

from dataenvgym.interfaces.predictors import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, TrainingDatum


@runtime_checkable
class DataGenerationAgentInterface(Protocol):
    """An agent that teaches: it looks at wrong answers and writes training records.

    It may also have `state_dict() -> dict` (JSON; no NaN) and `load_state_dict(dict)`: the state is
    then saved with each iteration, and a resumed run continues from it. A resumed agent without
    these methods starts with an empty memory, and the run warns of it.

    What it is shown is frozen, and a problem that is changed in spite of that ends the run with an
    error. It may ask `predictor`, but not change it: its `train`, `load` and `reset` raise
    AgentError.
    In a teaching environment it may also try records without keeping them
    (`predictor.trial(records)`, see `ShownStudentInterface`).
    """

    def __call__(
        self,
        completed: Sequence[CompletedTaskInstance],
        predictor: PredictorInterface,
    ) -> Sequence[TrainingDatum]:
        """Training records for the next iteration, given the evaluated validation instances."""
        ...

    def step(self) -> None:
        """Called after each iteration, once its records are trained on and evaluated."""
        ...


@runtime_checkable
class ActingAgentInterface(Protocol):
    """An agent whose actions are not only records, as in `SkillTree-v0`.

    It may be `Stateful` like any agent.
    """

    def act(self, observation: dict[str, Any], predictor: PredictorInterface) -> Any:
        """The environment's next action, given its observation."""
        ...

    def step(self) -> None:
        """Called after each iteration."""
        ...


TeachingAgent = DataGenerationAgentInterface | ActingAgentInterface


@runtime_checkable
class Stateful(Protocol):
    """Methods of a resumable agent beyond `DataGenerationAgentInterface`."""

    def state_dict(self) -> dict[str, JsonValue]:
        """The agent's whole memory, with the state of its random generator, as JSON."""
        ...

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        """Replace the memory by the result of `state_dict`."""
        ...
