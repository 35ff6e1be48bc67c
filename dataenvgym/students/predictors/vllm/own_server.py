"""A server that we started, shared by all predictors with the same options.

They share it through its lease (see `leases`), in one process or in several.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from dataenvgym.errors import ConfigurationError, ServerError
from dataenvgym.events import tell, warn_run
from dataenvgym.students.external.processes import (
    by_whom,
    created_at,
    end_of_log,
    end_process_tree,
    free_port,
    is_free,
)
from dataenvgym.students.predictors.vllm.leases import GRACE, Lease, RunningServer, end_left_over
from dataenvgym.students.predictors.vllm.options import VllmOptions
from dataenvgym.students.predictors.vllm.placeholder_adapters import write_zero_adapter
from dataenvgym.students.predictors.vllm.server import AWAY_SECONDS, POLL_SECONDS, VllmServer
from dataenvgym.students.predictors.vllm.starting import ServerOptions

_SHORT_GRACE = 0.5
"""Seconds that a server which does not answer yet gets to end by itself; it loses no work."""
_UNTOUCHED = "untouched"


class OwnServer(VllmServer):
    """A server that we, or other predictors with the same options, have started.

    If it dies it is restarted, once until the next adapter comes; after that it stays dead.

    Args:
        options: its arguments.
        given: how to ask it, the seconds that it may take to start, and its port; None picks a
            free one. A server already in use keeps its port.

    Raises:
        ConfigurationError: if the port is taken.
        ServerError: if it does not start, with its last output.
    """

    def __init__(self, options: ServerOptions, given: VllmOptions) -> None:
        self.options = options
        self._lease = Lease(options.key)
        self._start_timeout = given.start_timeout
        self._restarts_left = 1
        self._is_up = False
        with self._lease.alone():
            end_left_over()
            self.running = self._lease.running() or self._start(given.port)
            super().__init__(self.running.base_url, given)
            self._lease.join()
        try:
            self._come_up()
            if options.variant == "cpu":
                self._put_untouched()
        except BaseException:
            self.close()
            raise
        if given.port not in (None, self.running.port):
            warn_run(
                f"predictor.port={given.port} is not used: a vLLM server with the same options "
                f"runs on port {self.running.port}, and is shared. For one of your own, end the "
                "other run first or change an option, such as predictor.max_loras"
            )

    @property
    def log(self) -> Path:
        """The server's output."""
        return self._lease.log

    def load(self, name: str, folder: Path) -> None:
        super().load(name, folder)
        self._restarts_left = 1

    def revive(self) -> None:
        with self._lock:
            found = self._lease.running()
            if found is not None and found != self.running:  # another process has restarted it
                self._follow(found)
            elif not self._answers_soon():
                if not self._restarts_left:
                    raise ServerError(
                        "the vLLM server died again after it had been restarted. "
                        f"{end_of_log(self.log)}"
                    )
                self._restarts_left -= 1
                tell("the vLLM server died: starting it again")
                self.restart()
            self._reload_lost()

    def restart(self) -> None:
        with self._lock:
            with self._lease.alone():
                found = self._lease.running()
                if found is None or found == self.running:  # else another process was faster
                    self._lease.end_server()
                    found = self._start(self.running.port)
            self._follow(found)
            self._reload_lost()

    def close(self) -> None:
        """Stop using it; its last user ends the server."""
        super().close()
        self._lease.leave(grace=GRACE if self._is_up else _SHORT_GRACE)

    def _put_untouched(self) -> None:
        """Let the untouched student answer under the name of an adapter that changes nothing.

        On CPU, if questions with and without an adapter are computed together, vLLM also adds the
        weights of the last adapter to those without (vLLM pull request 48421).
        """
        folder = write_zero_adapter(self._lease.folder / _UNTOUCHED, self.options.model)
        if folder is not None:
            self.adapter_lock.adapters[_UNTOUCHED] = folder
            self._reload_lost()
            self.untouched = _UNTOUCHED

    def _follow(self, running: RunningServer) -> None:
        """Continue with a restarted server."""
        self.running = running
        if running.base_url != self.base_url:
            raise ServerError(
                f"the vLLM server has moved from {self.base_url} to {running.base_url}: run "
                "the same command again, and it continues there"
            )
        self._come_up()

    def _answers_soon(self) -> bool:
        """Whether a running server answers; one that is about to end does not."""
        deadline = time.monotonic() + AWAY_SECONDS
        while self.running.is_alive and time.monotonic() < deadline:
            if self.is_healthy():
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _start(self, port: int | None) -> RunningServer:
        if port is None:
            last = self._lease.last()
            port = last.port if last is not None and is_free(last.port) else free_port()
        elif not is_free(port):
            raise ConfigurationError(
                f"port {port} is taken{by_whom(port)}: set predictor.port to another, or to null "
                "for any that is free"
            )
        self._lease.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # explains why the earlier server died
            self.log.replace(self.log.with_name("log-before.txt"))
        arguments = self.options.arguments(port)
        with self.log.open("wb") as log:
            try:
                process = subprocess.Popen(
                    arguments,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self.options.environment(os.environ),
                    start_new_session=True,  # we pass on Ctrl-C ourselves; see also `leases`
                )
            except OSError as error:
                raise ConfigurationError(
                    f"the vLLM server cannot be started, {arguments[0]!r} is not a program: "
                    f"{error}. Set predictor.command, or leave it out and run "
                    "`dataenvgym external install vllm`"
                ) from error
        running = RunningServer(process.pid, created_at(process.pid), port)
        self._lease.record(running)
        return running

    def _come_up(self) -> None:
        """Wait until it answers.

        Raises:
            ServerError: if it ends instead, or takes too long; it is then ended.
        """
        self._is_up = False

        def check() -> None:
            if not self.running.is_alive:
                log = end_of_log(self.log, 25)
                raise ServerError(f"the vLLM server ended while it started. {log}")

        if not self._wait("the vLLM server is starting", self._start_timeout, check):
            end_process_tree(self.running.pid, grace=_SHORT_GRACE)
            raise ServerError(
                f"the vLLM server did not come up within {self._start_timeout:.0f} s "
                f"(predictor.start_timeout). {end_of_log(self.log)}"
            )
        self._is_up = True
        self._look()
