"""Who is to blame: what is one instance's error, and what is for the caller of `rollout`.

An exception from the predictor or a `Failure`, and an exception from the environment, end the
instances that they belong to with an `error`, never with a wrong answer. If `predict` raises for
several conversations, they are asked again one by one, so that one of them does not spoil the
others; not so after an `OSError`, which says that the predictor is out of reach for all.

A predictor that cannot work at all says so to the caller, with a `PredictionError` (its server
died) or a `ConfigurationError`; one that breaks its contract (too few replies, or something that is
not a reply) is a bug, and a `PredictionError` too.
"""

from __future__ import annotations

import logging
from typing import Any

from dataenvgym.errors import ConfigurationError, PredictionError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import TaskInstance

TO_THE_CALLER = (PredictionError, ConfigurationError)
"""What a predictor raises that is no instance's error."""
OF_ALL = (OSError,)
"""What a predictor raises that no other conversation would change: connections, time limits."""
_log = logging.getLogger(__name__)


def checked(reply: Any, method: str) -> Reply | Failure:
    """What the predictor's `method` gave, if it is what that must give."""
    if not isinstance(reply, Reply | Failure):
        raise PredictionError(f"{method} gave {reply!r}, expected a Reply or a Failure")
    return reply


def describe(who: str, error: Exception, instance: TaskInstance, *, among: int = 1) -> str:
    """The error in one line, for the record; the log gets the traceback."""
    others = f" and {among - 1} more" if among > 1 else ""
    _log.warning("%s failed for %s%s", who, instance.id, others, exc_info=error)
    return f"{who}: {type(error).__name__}: {error}"
