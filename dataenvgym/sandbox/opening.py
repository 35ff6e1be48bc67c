"""`open_sandbox` opens any backend."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from dataenvgym.errors import ConfigurationError, SandboxError, check_one_of
from dataenvgym.sandbox.interface import Sandbox

BACKENDS = {
    "bubblewrap": ("dataenvgym.sandbox.bubblewrap", "BubblewrapSandbox"),
    "unsafe_local": ("dataenvgym.sandbox.unsafe_local", "UnsafeLocalSandbox"),
}


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
    if workers < 1:
        raise ConfigurationError(f"workers is {workers}, expected 1 or more")
    if callable(backend):
        factory = backend
    else:
        check_one_of(BACKENDS, sandbox=backend)
        module, name = BACKENDS[backend]
        factory = getattr(import_module(module), name)
    try:
        return factory(workers=workers, **options)
    except TypeError as error:
        if options and "unexpected keyword argument" in str(error):
            raise ConfigurationError(f"sandbox backend {backend!r}: {error}") from None
        raise


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
        ConfigurationError: if the backend does not exist.
    """

    def __init__(
        self,
        backend: str | Callable[..., Sandbox] = "bubblewrap",
        *,
        workers: int = 2,
        options: Mapping[str, Any] | None = None,
    ):
        if not callable(backend):
            check_one_of(BACKENDS, sandbox=backend)
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
