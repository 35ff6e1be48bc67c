"""The purpose of attempts: a label for the records that task environments keep of them.

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
    """The purpose of attempts.

    Attributes:
        run: the name of the run or evaluation; "" for attempts that are not recorded.
        phase: the part of the run, such as "iteration-003" or "sample-000".
    """

    run: str = ""
    phase: str = ""


_CURRENT: ContextVar[Purpose] = ContextVar("purpose", default=Purpose())  # noqa: B039 - frozen


def current_purpose() -> Purpose:
    """The purpose set by the enclosing `attempts_for`; threads of a rollout see it."""
    return _CURRENT.get()


@contextmanager
def attempts_for(run: str, phase: str) -> Iterator[None]:
    """Set the purpose of the attempts in this block."""
    token = _CURRENT.set(Purpose(run, phase))
    try:
        yield
    finally:
        _CURRENT.reset(token)
