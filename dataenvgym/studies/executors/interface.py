"""Episodes to run, their outcomes, and the interface of executors.

An executor runs or resumes episodes, each a composed configuration, in their run directories. A
failed episode has its error in its `EpisodeOutcome`, and does not stop the others; Ctrl-C ends them
all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from omegaconf import DictConfig

from dataenvgym.agents.compatibility import check_fit
from dataenvgym.interfaces import TeachingAgent, TrainablePredictorInterface, expect
from dataenvgym.runs.config import (
    build_agent,
    build_environment,
    build_predictor,
    build_task,
    build_teacher,
)
from dataenvgym.runs.config.instantiation import build_section
from dataenvgym.runs.config.run_directory import run_directory

if TYPE_CHECKING:
    import gymnasium

    from dataenvgym.runs.episodes.callbacks import EpisodeCallback
    from dataenvgym.runs.episodes.summary import Summary


@dataclass(frozen=True)
class EpisodeJob:
    """One episode to run.

    Attributes:
        config: as `dataenvgym.runs.config.compose` returns it.
        callbacks: are notified of every event, in the process that called the executor.
        fresh: start over, and remove the files of an earlier run in the run directory.
    """

    config: DictConfig
    callbacks: Sequence[EpisodeCallback] = ()
    fresh: bool = False

    @property
    def directory(self) -> Path:
        """The run directory."""
        return run_directory(self.config)


@dataclass(frozen=True)
class EpisodeOutcome:
    """The outcome of an episode: its summary, or the error that ended it."""

    summary: Summary | None = None
    error: Exception | None = None

    def result(self) -> Summary:
        """The summary; raises the error if there is one."""
        if self.error is not None:
            raise self.error
        assert self.summary is not None
        return self.summary


@runtime_checkable
class ExecutorInterface(Protocol):
    """Runs episodes."""

    def run(self, episodes: Sequence[EpisodeJob]) -> list[EpisodeOutcome]:
        """Run all episodes to their end; return one outcome for each, in order.

        An episode with an impossible configuration leaves its run directory unchanged.

        Raises:
            ConfigurationError: if the executor itself cannot work; nothing has started then.
            KeyboardInterrupt: after Ctrl-C here or in an episode; all episodes have ended then.
        """
        ...


def build_executor(config: DictConfig) -> ExecutorInterface:
    """Build the executor of `config.executor`."""
    executor = build_section(config, "executor")
    return expect(executor, ExecutorInterface, "executor")


def build_episode(
    config: DictConfig,
    directory: Path,
    around: Callable[[TrainablePredictorInterface], TrainablePredictorInterface] | None = None,
) -> tuple[gymnasium.Env[Any, Any], TeachingAgent]:
    """Build environment and agent, and check that they fit (ConfigurationError); touch no file.

    Args:
        around: see `run_here`.
    """
    from dataenvgym.runs.episodes.runner import refuse_misfit, teaching_of

    task = build_task(config, directory)
    student = build_predictor(config)
    student = student if around is None else around(student)
    teacher = build_teacher(config, student, directory)
    agent = build_agent(config, task=task, teacher=teacher)
    environment = build_environment(
        config, directory, task=task, predictor=student, teacher=teacher
    )
    teaching_of(environment)  # refuses any other
    refuse_misfit(environment, agent)
    shows_skills = bool(environment.metadata.get("shows_skills", True))
    labels_skills = config.skills.get("_target_") is not None
    check_fit(task, agent, shows_skills=shows_skills, labels_skills=labels_skills, student=student)
    return environment, agent
