"""A server that we started, shared by all predictors that want the same one.

Predictors of this process share one `OwnServer` (`shared_server`); other processes share the
server itself, through its lease (see `leases`).
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dataenvgym.errors import AdapterError, ConfigurationError, ServerError
from dataenvgym.external.ports import by_whom, free_port, is_free
from dataenvgym.external.processes import created_at, end_of_log, end_process_tree
from dataenvgym.predictors.vllm.blank import write_untouched
from dataenvgym.predictors.vllm.leases import Lease, RunningServer, end_left_over
from dataenvgym.predictors.vllm.options import ServerOptions
from dataenvgym.predictors.vllm.server import (
    AWAY_SECONDS,
    POLL_SECONDS,
    TELL_SECONDS,
    VllmServer,
)
from dataenvgym.progress import tell
from dataenvgym.run_warnings import warn_run

_SHORT_GRACE = 0.5
"""Seconds that a server which does not answer yet gets to end by itself: it has nothing to lose."""


class OwnServer(VllmServer):
    """A server that this process started, or took over from one that was killed.

    If it dies it is started again, once until the next adapter comes; then it stays dead.

    Args:
        port: where it listens; None picks a free one. One that others use stays where it is.
        start_timeout: seconds that it may take to come up.

    Raises:
        ConfigurationError: if the port is taken.
        ServerError: if it does not come up, with what it said last.
    """

    def __init__(
        self, options: ServerOptions, *, port: int | None = None, start_timeout: float = 900.0
    ) -> None:
        self.options = options
        self._lease = Lease(options.key)
        self._start_timeout = start_timeout
        self._restarts_left = 1
        self._is_up = False
        with self._lease.alone():
            end_left_over(self._lease)
            if not self._lease.users() and self._is_unfit(port):
                self._lease.end_server()
            self._follow(self._lease.running() or self._start(port))
            super().__init__(self.running.base_url)
            self._lease.join()
        try:
            self._come_up()
            if options.variant == "cpu":
                self._put_untouched()
        except BaseException:
            self.close()
            raise

    @property
    def log(self) -> Path:
        """What the server prints."""
        return self._lease.log

    def load(self, name: str, folder: Path) -> None:
        super().load(name, folder)
        self._restarts_left = 1

    def revive(self) -> None:
        with self._lock:
            if self.running.is_alive and self._answers_soon():
                self._reload_lost()
                return
            if not self._restarts_left:
                raise ServerError(
                    "the vLLM server died again after it had been restarted. "
                    f"{end_of_log(self.log)}"
                )
            self._restarts_left -= 1
            tell("the vLLM server died: starting it again")
            self.restart()

    def restart(self) -> None:
        with self._lock:
            with self._lease.alone():
                found = self._lease.running()
                # another process may have been quicker
                if found is None or found == self.running:
                    self._lease.end_server()
                    found = self._start(self.running.port)
                self._follow(found)
            self._resume()

    def follow(self) -> None:
        if self._lease.recorded_at == self._recorded_at:
            return
        with self._lock:
            found = self._lease.running()
            if found is not None and found != self.running:
                self._follow(found)
                self._resume()

    def close(self) -> None:
        """Be done with it; the last one who is, of all processes, ends the server."""
        if self.untouched is not None:  # nobody asks any more: other processes may go on
            with suppress(ServerError):
                self._unload_now(self.untouched)
        super().close()
        if self._is_up:
            self._lease.leave()
        else:
            self._lease.leave(grace=_SHORT_GRACE)

    def _put_untouched(self) -> None:
        """Have the untouched student answer under the name of an adapter that changes nothing.

        On CPU, vLLM adds the weights of whichever adapter is last to questions without one, if
        they are computed together with questions that have one (vLLM pull request 48421).
        """
        name = f"untouched-{uuid.uuid4().hex[:8]}"
        folder = write_untouched(self._lease.folder / "untouched", self.options.model)
        if folder is not None:
            self.load(name, folder)
            self.untouched = name

    def _is_unfit(self, port: int | None) -> bool:
        """Whether a server that a killed process left over cannot be taken over as it is."""
        left = self._lease.running()
        # it may have been left asleep
        return self.options.sleep or (left is not None and port not in (None, left.port))

    def _follow(self, running: RunningServer) -> None:
        self.running = running
        self._recorded_at = self._lease.recorded_at

    def _resume(self) -> None:
        """Be as before on a new server."""
        if self.running.base_url != self.base_url:
            raise ServerError(
                f"the vLLM server has moved from {self.base_url} to {self.running.base_url}: run "
                "the same command again, and it goes on there"
            )
        self._come_up()
        try:
            for name, folder in self._adapters.items():
                self._load(name, folder)
        except AdapterError as error:
            raise ServerError(
                f"the vLLM server was started again, and an adapter is lost: {error}"
            ) from error

    def _answers_soon(self) -> bool:
        """Whether a server whose process runs answers: one that is ending does not."""
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
        with suppress(FileNotFoundError):  # tells why the one before died
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
                    start_new_session=True,  # Ctrl-C is ours to pass on, and see `leases`
                )
            except OSError as error:
                raise ConfigurationError(
                    f"the vLLM server cannot be started, {arguments[0]!r} is no program: {error}. "
                    "Set predictor.command, or leave it out and run `dataenvgym external install "
                    "vllm`"
                ) from error
        running = RunningServer(process.pid, created_at(process.pid), port)
        self._lease.record(running)
        return running

    def _come_up(self) -> None:
        """Wait until it answers.

        Raises:
            ServerError: if it ends instead, or takes too long; it is ended then.
        """
        self._is_up = False
        began = told = time.monotonic()
        while not self.is_healthy():
            waited = time.monotonic() - began
            if not self.running.is_alive:
                raise ServerError(
                    f"the vLLM server ended while it started. {end_of_log(self.log, 25)}"
                )
            if waited > self._start_timeout:
                end_process_tree(self.running.pid, grace=_SHORT_GRACE)
                raise ServerError(
                    f"the vLLM server did not come up within {self._start_timeout:.0f} s "
                    f"(predictor.start_timeout). {end_of_log(self.log)}"
                )
            if time.monotonic() - told > TELL_SECONDS:
                told = time.monotonic()
                tell(f"the vLLM server is starting: {waited:.0f} s")
            time.sleep(POLL_SECONDS)
        self._is_up = True
        self._look()


_SHARED: dict[str, tuple[OwnServer, list[object]]] = {}
_SHARING = threading.RLock()  # finalizers release, and may run anywhere


def shared_server(
    options: ServerOptions, *, port: int | None, start_timeout: float
) -> tuple[OwnServer, Callable[[], None]]:
    """The server with these options, and what to call once when done with it."""
    key = options.key  # once: it may be another when the student's folder has changed
    with _SHARING:
        if key not in _SHARED:
            server = OwnServer(options, port=port, start_timeout=start_timeout)
            _SHARED[key] = (server, [])
        server, users = _SHARED[key]
        user = object()
        users.append(user)
    if port not in (None, server.running.port):
        warn_run(
            f"predictor.port={port} is not used: a vLLM server with the same options runs on port "
            f"{server.running.port}, and is shared. For one of your own, end the other run first "
            "or change an option, such as predictor.max_loras"
        )

    def release() -> None:
        with _SHARING:
            if user in users:
                users.remove(user)
                if not users:
                    del _SHARED[key]
                    server.close()

    return server, release
