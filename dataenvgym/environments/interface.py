"""The interface of a teaching environment for runners: gymnasium's methods and five attributes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import gymnasium

from dataenvgym.environments.iteration_result import IterationResult
from dataenvgym.interfaces import EnvironmentInterface, TaskInterface, TrainablePredictorInterface


@runtime_checkable
class TeachingEnvironmentInterface(EnvironmentInterface, Protocol):
    """A gymnasium environment that `run_episode` can run.

    `reset` gets these options, and may ignore all but `directory`:

    - `resume`: True continues the episode that the directory holds, if there is one.
    - `fresh`: True replaces it.
    - `directory`: the run directory; the files of iteration N go to `iterations/NNN`.
    - `test_tasks`: further tasks whose problems the records must not give away.
    - `clock`: a `PhaseClock`, to be entered as `clock("train")` so that callbacks hear of phases.

    The observation has `"completed"`, the evaluated validation instances. The `info` of `reset` may
    have `"pending_action"`, that of an interrupted iteration, to be stepped with again; and
    `"is_over"`, True if the episode needs no further step.

    Reports read the files of each iteration that `IterationFiles` writes as `write_completed` and
    `write_result`. An environment that ignores `resume` begins a killed episode anew, of which
    the runner warns. An episode ends where `step` says that it is terminated or truncated.

    Attributes:
        action_space: a `RecordsSpace` for an agent that is called for records; any other one for
            an agent that acts. `metadata["shows_skills"]` is False where the agent sees no skills.
        task: that the student is evaluated on.
        predictor: the student. Its adapter after iteration N is `iterations/NNN/adapter`.
        directory: the run directory, unless `reset` is given another one.
        is_temporary: whether that folder is gone with the environment.
        results: the finished iterations of the episode, the base student first; empty before
            `reset`.
    """

    @property
    def action_space(self) -> gymnasium.Space[Any]: ...

    @property
    def task(self) -> TaskInterface: ...

    @property
    def predictor(self) -> TrainablePredictorInterface: ...

    @property
    def directory(self) -> Path: ...

    @property
    def is_temporary(self) -> bool: ...

    @property
    def results(self) -> Sequence[IterationResult]: ...

    def close(self) -> None: ...
