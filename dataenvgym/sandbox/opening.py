"""`open_sandbox` opens any backend."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from dataenvgym.errors import ConfigurationError, SandboxError, did_you_mean
from dataenvgym.sandbox.interface import Sandbox

BACKENDS = ("bubblewrap", "unsafe_local")


def open_sandbox(
    backend: str | Callable[..., Sandbox] = "bubblewrap", *, workers: int = 1, **options: Any
) -> Sandbox:
    """A sandbox that is ready to run code; use it in a `with` statement, or close it.

    Args:
        backend: "bubblewrap"; or "unsafe_local", which gives no protection; or any callable that
            takes `workers` and the options and returns a `Sandbox`.
        workers: how many runs may be active at the same time.
        options: those of the backend's class (see `BubblewrapSandbox`).

    Raises:
        ConfigurationError: if the backend cannot work on this machine, with the cause and the
            remedies. Another backend is never used instead.
    """
    check_backend(backend, workers=workers)
    factory = backend if callable(backend) else _backend(backend)
    try:
        return factory(workers=workers, **options)
    except TypeError as error:
        if options and "unexpected keyword argument" in str(error):
            raise ConfigurationError(f"sandbox backend {backend!r}: {error}") from None
        raise


def check_backend(backend: str | Callable[..., Sandbox], *, workers: int) -> None:
    """Refuse a backend that does not exist, or an invalid number of workers.

    Raises:
        ConfigurationError: naming the value, and the existing backends.
    """
    if workers < 1:
        raise ConfigurationError(f"workers is {workers}, expected 1 or more")
    if not callable(backend) and backend not in BACKENDS:
        meant = did_you_mean(str(backend), BACKENDS)
        raise ConfigurationError(f"there is no sandbox backend {backend!r}.{meant}")


def _backend(name: str) -> Callable[..., Sandbox]:
    if name == "bubblewrap":
        from dataenvgym.sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox
    from dataenvgym.sandbox.unsafe_local import UnsafeLocalSandbox

    return UnsafeLocalSandbox


class SharedSandbox:
    """Shared by a task, its copies, their environments and all threads.

    A copy in another process (after pickling or a fork) opens its own sandbox. `close` closes the
    sandbox; otherwise it is closed when the last reference to this object goes, at the latest at
    exit.

    Args:
        backend: see `open_sandbox`.
        workers: how many runs may be active at the same time.
        options: the backend's own.

    Raises:
        ConfigurationError: if the backend does not exist, or workers is not a positive number.
    """

    def __init__(
        self,
        backend: str | Callable[..., Sandbox] = "bubblewrap",
        *,
        workers: int = 2,
        options: Mapping[str, Any] | None = None,
    ):
        check_backend(backend, workers=workers)
        self.backend = backend
        self.workers = workers
        self.options = dict(options or {})
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._box: Sandbox | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._closed = False

    def box(self) -> Sandbox:
        """The open sandbox.

        Raises:
            ConfigurationError: if the backend cannot work here; the message lists the remedies.
            SandboxError: after `close`.
        """
        if self._owner != os.getpid():  # after a fork: sandbox and lock are the parent's
            self._forget()
        with self._lock:
            if self._closed:
                raise SandboxError("the task's sandbox is closed: make a new task")
            if self._box is None:
                self._box = open_sandbox(self.backend, workers=self.workers, **self.options)
                self._end = weakref.finalize(self, _close, self._box, self._owner)
            return self._box

    def close(self) -> None:
        """Close what is open; nothing can be judged afterwards."""
        with self._lock:
            self._closed = True
            if self._end is not None:
                self._end()
            self._box = None

    def __getstate__(self) -> dict[str, Any]:
        return {"backend": self.backend, "workers": self.workers, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._box = self._end = None
        self._closed = False


def _close(box: Sandbox, owner: int) -> None:
    if os.getpid() == owner:
        box.close()
