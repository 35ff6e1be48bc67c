"""What attempts at problems are for: a label for what task environments keep of them.

with attempts_for("my_run", "iteration-003"):
    task.attempt(predictor)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Purpose:
    """What attempts are for.

    Attributes:
        run: the name of the run or evaluation; "" for an attempt that nothing is to be kept of.
        phase: within it, such as "iteration-003" or "sample-000".
    """

    run: str = ""
    phase: str = ""


_CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=Purpose())  # noqa: B039 - frozen


def current_purpose() -> Purpose:
    """What the attempts of the enclosing `attempts_for` are for; threads of a rollout know it."""
    return _CURRENT.get()


@contextmanager
def attempts_for(run: str, phase: str) -> Iterator[None]:
    """Say what the attempts in this block are for."""
    token = _CURRENT.set(Purpose(run, phase))
    try:
        yield
    finally:
        _CURRENT.reset(token)
