"""Executors run episodes: in this process, in other processes, or on a Ray cluster.

    interface       `EpisodeJob`, `EpisodeOutcome` (its summary or error), `ExecutorInterface`
    in_process      one episode after another, in this process
    together        several at a time in this process, with their adapters trained together
    processes       several at a time on this machine, each in its own process
    ray_executor    several at a time on a Ray cluster, each as a task
    episode_driver  the driver of episodes in other processes: starts workers, replaces lost ones
    worker          the worker: runs an episode in its process

An executor changes where an episode runs and how fast, never its results.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.studies.executors.in_process import InProcessExecutor
    from dataenvgym.studies.executors.interface import (
        EpisodeJob,
        EpisodeOutcome,
        ExecutorInterface,
        build_executor,
    )
    from dataenvgym.studies.executors.processes import ProcessExecutor
    from dataenvgym.studies.executors.ray_executor import RayExecutor
    from dataenvgym.studies.executors.slurm_executor import SlurmExecutor
    from dataenvgym.studies.executors.together import TogetherExecutor
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "EpisodeJob",
    "EpisodeOutcome",
    "ExecutorInterface",
    "InProcessExecutor",
    "ProcessExecutor",
    "RayExecutor",
    "SlurmExecutor",
    "TogetherExecutor",
    "build_executor",
]
