"""How episodes are run: in this process, in others, or on the machines of a Ray cluster.

    interface     `Episode`, `EpisodeOutcome` (its summary or error), `ExecutorInterface`
    in_process    one episode after the other, here
    processes     several at a time on this machine, each in a process of its own
    ray_executor  several at a time on a Ray cluster, each as a task
    ray_cluster   ... which is found or started, and must see the run directories
    driving       the driver's side of episodes in other processes: who starts, hears, replaces them
    worker        the worker's side: runs the episode in process, and tells the driver as it goes
    errors        errors on their way from one process to another
    rehearsal     the first prompts of an episode, without running it

An executor changes where an episode runs and how fast, never its results.
"""

from dataenvgym.executors.in_process import InProcessExecutor
from dataenvgym.executors.interface import (
    Episode,
    EpisodeOutcome,
    ExecutorInterface,
    build_executor,
)
from dataenvgym.executors.processes import ProcessExecutor
from dataenvgym.executors.ray_executor import RayExecutor

__all__ = [
    "Episode",
    "ExecutorInterface",
    "InProcessExecutor",
    "EpisodeOutcome",
    "ProcessExecutor",
    "RayExecutor",
    "build_executor",
]
