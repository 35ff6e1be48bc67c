"""The interface between teaching environments and runners: gymnasium's methods, and phases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import gymnasium

from dataenvgym.environments.iterations import IterationResult
from dataenvgym.interfaces import EnvironmentInterface, TrainablePredictorInterface
from dataenvgym.tasks.base import Task

PHASES = ("agent", "check", "dataset", "train", "load", "generate", "score", "save")
"""The phases of one iteration, in order."""

Listener = Callable[[Literal["begin", "end"], int, str, float], None]
"""Called with the event, the iteration, the phase and (at its end) the seconds it took."""


class PhaseClock:
    """The seconds in each phase of the current iteration: `with clock("train"): ...`."""

    def __init__(self) -> None:
        self.iteration = 0
        self.seconds: dict[str, float] = {}
        self.listeners: list[Listener] = []

    def start(self, iteration: int) -> None:
        """Begin an iteration: reset the seconds."""
        self.iteration, self.seconds = iteration, {}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Enter a phase. Seconds of repeated phases add up. A phase that raises does not end."""
        for listener in self.listeners:
            listener("begin", self.iteration, phase, 0.0)
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        self.add(phase, seconds)
        for listener in self.listeners:
            listener("end", self.iteration, phase, seconds)

    def add(self, phase: str, seconds: float) -> None:
        """Count `seconds` to `phase` without announcing it."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


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

    Reports read the files that `IterationFiles.save` and `write_result` write. If an
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
    def task(self) -> Task: ...

    @property
    def predictor(self) -> TrainablePredictorInterface: ...

    @property
    def directory(self) -> Path: ...

    @property
    def is_temporary(self) -> bool: ...

    @property
    def results(self) -> Sequence[IterationResult]: ...

    def close(self) -> None: ...
