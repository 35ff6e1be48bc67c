"""What happens in a child of a `ProcessExecutor`: one episode, told through a pipe as it goes."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from dataenvgym.episodes.callbacks import EpisodeCallback, EpisodePlan, PhaseEvent
from dataenvgym.episodes.summary import IterationSummary, Summary
from dataenvgym.episodes.warning_log import RunWarning
from dataenvgym.executors.errors import CarriedError, Done
from dataenvgym.executors.ray_host import Surroundings
from dataenvgym.executors.ray_worker import Method, Told
from dataenvgym.secrets import redacted_output

_PATIENCE = 10.0  # seconds that an episode gets to end once nobody listens any more


@dataclass(frozen=True)
class ProcessOrder:
    """An episode to be gone on with.

    Attributes:
        config: the configuration, resolved, as YAML text.
        fresh: start anew.
        variables: the environment variables of whoever asks.
        log: the file for standard output and error.
    """

    config: str
    fresh: bool
    surroundings: Surroundings
    variables: dict[str, str]
    log: str


def run_order(connection: Connection, order: ProcessOrder) -> None:
    """Run the episode; sends `Told`s, and at the end `Done` with the summary or a `CarriedError`.

    SIGTERM, and the end of whoever listens, interrupt it: then nothing more is sent.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever listens to decide
    signal.signal(signal.SIGTERM, _interrupt)
    _redirect(order.log)
    os.environ.clear()
    os.environ.update(order.variables)
    order.surroundings.enter()
    threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
    try:
        with redacted_output():
            reply = _run(connection, order)
        connection.send(reply)
    except (KeyboardInterrupt, ConnectionError):
        sys.exit(128 + signal.SIGTERM)


def _run(connection: Connection, order: ProcessOrder) -> Done | CarriedError:
    from omegaconf import OmegaConf

    from dataenvgym.executors.in_process import InProcessExecutor
    from dataenvgym.executors.interface import Episode

    config: Any = OmegaConf.create(order.config)
    (outcome,) = InProcessExecutor().run([Episode(config, [_Relay(connection)], order.fresh)])
    if outcome.error is not None:
        return CarriedError.of(outcome.error)
    return Done(outcome.summary)


class _Relay(EpisodeCallback):
    """Tells what it hears."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()  # warnings come from any thread

    def on_start(self, plan: EpisodePlan) -> None:
        self._tell("on_start", plan)

    def on_phase(self, event: PhaseEvent, iteration: int, phase: str, seconds: float) -> None:
        self._tell("on_phase", event, iteration, phase, seconds)

    def on_warning(self, warning: RunWarning) -> None:
        self._tell("on_warning", warning)

    def on_iteration(self, summary: IterationSummary) -> None:
        self._tell("on_iteration", summary)

    def on_end(self, summary: Summary) -> None:
        self._tell("on_end", summary)

    def _tell(self, method: Method, *arguments: Any) -> None:
        with self._lock:
            self._connection.send(Told(method, arguments, None))


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def _redirect(path: str) -> None:
    """Whatever the episode prints goes to a file; so does the traceback of a crash."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    faulthandler.enable()


def _end_with(connection: Connection) -> None:
    """Wait until whoever listens is gone, then interrupt this process, and end it at last."""
    try:
        connection.recv()
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_PATIENCE)
        os._exit(128 + signal.SIGTERM)
