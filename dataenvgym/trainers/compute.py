"""Distributes computations over CPU cores.

Small models gain little from several threads inside one operation, and lose much where cores are
shared: every operation then waits for the slowest thread. So on CPU each operation runs on one
thread, and `threads` independent tasks (batches, parts of a batch) run in parallel. The result of a
task does not depend on how many run at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol, TypeVar

import torch

from dataenvgym.errors import ConfigurationError, need

_T = TypeVar("_T")
_R = TypeVar("_R")

# Torch's thread count belongs to the process: while it is one, no other code may change it.
_ONE_THREAD = threading.RLock()
# So does torch's global random generator.
_GLOBAL_RNG = threading.RLock()


class Run(Protocol):
    """Applies a function to every item, some of them in parallel; results in order."""

    def __call__(self, function: Callable[[_T], _R], items: Sequence[_T], /) -> list[_R]: ...


@contextmanager
def workers(threads: int, device: torch.device) -> Iterator[Run]:
    """Work on `device`: on CPU `threads` items at a time, elsewhere one after the other.

    Torch's thread count is restored at the end. On CPU, one such block runs at a time.
    """
    if device.type != "cpu":
        yield lambda function, items: [function(item) for item in items]
        return
    with _ONE_THREAD:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        # made after the count was set: new threads inherit it
        pool = ThreadPoolExecutor(threads, thread_name_prefix="compute")
        try:
            yield lambda function, items: list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(before)


def precision(device: torch.device, *, bf16: bool) -> AbstractContextManager[Any]:
    """The precision of a training, for the thread that enters the context."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if bf16 else nullcontext()


@contextmanager
def global_rng(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators, for code that can use no others; restore them afterwards."""
    devices = [torch.cuda.current_device()] if device.type == "cuda" else []
    with _GLOBAL_RNG, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)  # noqa: TID251  this is the one place for such code
        yield


def resolve_device(name: str) -> torch.device:
    """The device of that name; "auto" is the first CUDA device if there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigurationError(
            f"device is {name!r}, expected 'cpu', 'cuda', 'cuda:N' or 'auto'."
        ) from None
    if device.type == "cuda" and not torch.cuda.is_available():
        need(
            ConfigurationError(
                f"device is {name!r}, and there is no CUDA device here; use 'cpu' or 'auto'"
            )
        )
    return device
