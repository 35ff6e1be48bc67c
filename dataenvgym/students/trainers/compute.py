"""Distributes computations over CPU cores.

Small models gain little from several threads inside one operation, and lose much where cores are
shared: every operation then waits for the slowest thread. So on CPU each operation runs on one
thread, and `threads` independent tasks (batches, parts of a batch) run in parallel. The result of a
task does not depend on how many run at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from dataenvgym.errors import ConfigurationError, need
from dataenvgym.events import ContextThreadPool

# Torch's global random generator and its thread count belong to the process.
_GLOBAL_RNG = threading.RLock()
_COUNT = threading.Lock()
_before = _n_blocks = 0  # the thread count outside, and the blocks that compute


Run = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Applies a function to every item, some of them in parallel; results in order."""


@contextmanager
def workers(threads: int, device: torch.device) -> Iterator[Run]:
    """Work on `device`: on CPU `threads` items at a time, elsewhere one after the other.

    On CPU, torch's thread count is 1 while there are such blocks, of any thread; the last one
    restores it.
    """
    global _before, _n_blocks
    if device.type != "cpu":
        yield lambda function, items: [function(item) for item in items]
        return
    with _COUNT:
        _n_blocks += 1
        if _n_blocks == 1:
            _before = torch.get_num_threads()
        torch.set_num_threads(1)  # for this thread, and for new ones
    pool = ContextThreadPool(threads, thread_name_prefix="compute")
    try:
        yield lambda function, items: list(pool.map(function, items))
    finally:
        pool.shutdown(cancel_futures=True)
        with _COUNT:
            _n_blocks -= 1
            if not _n_blocks:
                torch.set_num_threads(_before)


# The number of weights from which computing takes most of the time on CPU. Below (the pocket
# students), most of it is spent on starting operations.
LARGE = 20_000_000


def is_large(model: Any) -> bool:
    """Whether the model is on CPU, and computing less is worth starting more operations.

    This is the one place that separates the computations of small and large models. Their results
    are the same up to rounding; the published figures of the pocket students are those of the small
    ones, bit for bit.
    """
    on_cpu: bool = model.device.type == "cpu"
    return on_cpu and sum(p.numel() for p in model.parameters()) >= LARGE


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
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        need(
            ConfigurationError(
                f"device is {name!r}, and there is no CUDA device here; use 'cpu' or 'auto'"
            )
        )
    return device
