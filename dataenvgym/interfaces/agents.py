"""Who teaches."""

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
    then saved with each iteration, and a resumed run continues from it. An agent without them
    starts its memory anew, and the run warns of it.

    It may ask `predictor`, and not change it: its `train`, `load` and `reset` raise AgentError.
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
    """Someone who teaches by other actions than records, as `SkillTree-v0` has them.

    It may be `Stateful` as any agent.
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
        """All that the agent remembers, the state of its random generator included, as JSON."""
        ...

    def load_state_dict(self, state: dict[str, JsonValue]) -> None:
        """Remember what `state_dict` returned, and nothing else."""
        ...
