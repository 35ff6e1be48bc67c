"""Who is at fault: decides which errors belong to one instance, and which go to the caller.

An exception from a speaker (the student, or another one), a `Failure`, or an exception from the
environment ends its instance with an `error`, never with a wrong answer. If `predict` raises for
several conversations, they are asked again one by one, so that one of them does not fail the
others. After an `OSError` they are not, because the speaker is then out of reach for all.

A failed instance names the party at fault (see `dataenvgym.records.instances`). It is the
infrastructure if the student's predictor failed, or if a speaker was out of reach (`is_outage`,
`Failure.outage`) or is missing; otherwise the speaker, by its name, or the environment.

A speaker that cannot work at all raises an exception for the caller: a `PredictionError` (its
server died), a `ConfigurationError`, or, of a teacher, a `BudgetSpentError` or an `ExternalError`
(its cache cannot be reached). Returning too few
replies, or objects that are not replies, is a bug and a `PredictionError`, too.
"""

from __future__ import annotations

import logging

from dataenvgym.errors import BudgetSpentError, ConfigurationError, ExternalError, PredictionError

STUDENT = "predictor"
"""The student's name among the speakers, and in errors."""
TO_THE_CALLER = (PredictionError, ConfigurationError, BudgetSpentError, ExternalError)
"""Exceptions of a speaker that are not an instance's error."""
OF_ALL = (OSError,)
"""Exceptions of a speaker that concern all conversations: connections, time limits."""
_OUTAGES = ("Timeout", "Connect", "Cancelled")  # of httpx, openai, asyncio: not OSErrors
_log = logging.getLogger(__name__)


def is_outage(error: Exception) -> bool:
    """Whether an exception means that a model was out of reach."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return isinstance(error, OF_ALL) or any(part in name for name in names for part in _OUTAGES)


def describe(who: str, error: Exception, name: str, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback and the name."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, name, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"
