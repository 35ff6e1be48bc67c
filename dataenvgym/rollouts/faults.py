"""Who is at fault: which errors are one instance's, and which are for the caller of `rollout`.

An exception from a speaker (the student, or another one) or a `Failure`, and an exception from the
environment, end the instances that they belong to with an `error`, never with a wrong answer. If
`predict` raises for several conversations, they are asked again one by one, so that one of them
does not spoil the others; not so after an `OSError`, which says that the speaker is out of reach
for all.

A failed instance says whose fault it was (see `dataenvgym.records.faults`): infrastructure's if
the student's predictor failed, if a speaker was out of reach (`is_outage`, `Failure.outage`) or is
missing; otherwise the speaker's, by its name, or the environment's.

A speaker that cannot work at all says so to the caller, with a `PredictionError` (its server died),
a `ConfigurationError`, or a `BudgetSpentError` (a teacher's); one that breaks its contract (too few
replies, or something that is not a reply) is a bug, and a `PredictionError` too.
"""

from __future__ import annotations

import logging

from dataenvgym.errors import BudgetSpentError, ConfigurationError, PredictionError
from dataenvgym.records import TaskInstance

STUDENT = "predictor"
"""The student's name among the speakers, and in errors."""
TO_THE_CALLER = (PredictionError, ConfigurationError, BudgetSpentError)
"""Exceptions of a speaker that are not an instance's error."""
OF_ALL = (OSError,)
"""Exceptions of a speaker that concern all conversations: connections, time limits."""
_OUTAGES = ("Timeout", "Connect", "Cancelled")  # httpx's, openai's, asyncio's are no OSErrors
_log = logging.getLogger(__name__)


def is_outage(error: Exception) -> bool:
    """Whether an exception says that a model was out of reach, and nothing about the model."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, OF_ALL) or any(part in name for name in names for part in _OUTAGES)


def describe(who: str, error: Exception, instance: TaskInstance, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, instance.id, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"
