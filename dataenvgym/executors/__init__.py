"""How episodes are run: in this process, in others, or on the machines of a Ray cluster.

    interface         `Episode` (to be run), `Outcome` (what it came to), `ExecutorInterface`
    building          a configuration -> the executor of `config.executor`
    in_process        one episode after the other, here
    processes         several at a time on this machine, each in a process of its own
    process_worker    ... and what happens there
    ray_executor      hands episodes to Ray, listens to them, replaces workers that are lost
    driving           the driver's side of such an episode: its run directory, and who watches it
    ray_worker        the worker's side: one episode in a temporary folder, told as it goes
    remote_predictor  a student in another process, made again if that process dies
    predictor_host    the other end of it, which holds the real student
    ray_host          ... in a Ray actor
    parcels           a folder's files on their way from one machine to another
    narration         work in a thread, told step by step
    errors            errors of executors, and errors on their way from one process to another

An executor changes how fast an episode is and where, never what it comes to.
"""

from dataenvgym.executors.building import build_executor
from dataenvgym.executors.in_process import InProcessExecutor
from dataenvgym.executors.interface import Episode, ExecutorInterface, Outcome
from dataenvgym.executors.processes import ProcessExecutor
from dataenvgym.executors.ray_executor import RayExecutor
from dataenvgym.executors.remote_predictor import RemotePredictor

__all__ = [
    "Episode",
    "ExecutorInterface",
    "InProcessExecutor",
    "Outcome",
    "ProcessExecutor",
    "RayExecutor",
    "RemotePredictor",
    "build_executor",
]
