"""Tasks, which evaluate predictors, and the environments of gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, runtime_checkable

from dataenvgym.interfaces.predictors import PredictorInterface
from dataenvgym.records import CompletedTaskInstance, PerformanceReport


@runtime_checkable
class TaskInterface(Protocol):
    """A set of problems for a predictor."""

    def evaluate(self, predictor: PredictorInterface) -> Sequence[CompletedTaskInstance]:
        """Let the predictor try every problem, in a fixed order."""
        ...

    def generate_performance_report(
        self, completed: Sequence[CompletedTaskInstance]
    ) -> PerformanceReport:
        """Summarize the completed instances."""
        ...


@runtime_checkable
class EnvironmentInterface(Protocol):
    """Exactly gymnasium's `reset` and `step`."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; returns the first observation and an info."""
        ...

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action; returns observation, reward, terminated, truncated and an info."""
        ...
