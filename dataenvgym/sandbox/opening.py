"""`open_sandbox` opens any backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataenvgym.errors import ConfigurationError, check_at_least, did_you_mean
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
    check_at_least(1, workers=workers)
    if not callable(backend) and backend not in BACKENDS:
        raise ConfigurationError(
            f"there is no sandbox backend {backend!r}; there are {', '.join(BACKENDS)}, or give a "
            f"class.{did_you_mean(str(backend), BACKENDS)}"
        )


def _backend(name: str) -> Callable[..., Sandbox]:
    if name == "bubblewrap":
        from dataenvgym.sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox
    from dataenvgym.sandbox.unsafe_local import UnsafeLocalSandbox

    return UnsafeLocalSandbox
