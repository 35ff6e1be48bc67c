"""The interface between teaching environments and runners: gymnasium's methods and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import gymnasium

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.interfaces import EnvironmentInterface, TaskInterface, TrainablePredictorInterface


@runtime_checkable
class TeachingEnvironmentInterface(EnvironmentInterface, Protocol):
    """A gymnasium environment that `run_episode` can run.

    `reset` gets these options; it may ignore all except `directory`:

    - `resume`: True continues the episode in the directory, if there is one.
    - `fresh`: True replaces it.
    - `directory`: the run directory; the files of iteration N are in `iterations/NNN`.
    - `test_tasks`: further tasks whose problems the records must not give away.
    - `clock`: a `PhaseClock`; enter each phase as `clock("train")` to notify callbacks.

    The observation has `"completed"`, the evaluated validation instances. The `info` of `reset` may
    have `"pending_action"`, the action of an interrupted iteration, with which the runner steps
    again; and `"is_over"`, True if the episode needs no further step.

    Reports read the files that `IterationFiles.write_completed` and `write_result` write. If an
    environment ignores `resume`, a killed episode starts over, and the runner warns. An episode
    ends when `step` returns terminated or truncated.

    Attributes:
        action_space: a `RecordsSpace` for agents that return records; any other space for agents
            that act. `metadata["shows_skills"]` is False if the agent sees no skills.
        task: the task that the student is evaluated on.
        predictor: the student. Its adapter after iteration N is `iterations/NNN/adapter`.
        directory: the run directory, unless `reset` gets another one.
        is_temporary: True if the folder is removed with the environment.
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
