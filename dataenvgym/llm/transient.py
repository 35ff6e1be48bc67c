"""Decides which failures are worth a retry, and when.

These are worth one: an answer that does not come (a lost connection, a timeout), and the statuses
that are temporary: 408, 409, 429 and 5xx. Any other failure would be repeated.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_LONGEST_S = 30.0


@dataclass(frozen=True)
class Trouble:
    """A try without an answer; another try may succeed.

    Attributes:
        reason: of the failure.
    disconnected: whether the connection could not be made or broke, or whether a server that
        can be restarted no longer knows the model.
        retry_after: the seconds that the server asks to wait, or None.
    """

    reason: str
    disconnected: bool = False
    retry_after: float | None = None


def is_transient(status: int) -> bool:
    """Whether a server that answers with this status may answer properly later."""
    return status in (408, 409, 429) or status >= 500


def refuses_all(status: int, *, has_answered: bool) -> bool:
    """Whether a server that answers with this status would refuse other questions too.

    It would if it does not know the key (401). For 403 and 404, it depends on earlier answers. A
    server that has answered may forbid a single question (403), or have lost its model (404). One
    that has not refuses the user, or does not have the model.
    """
    return status == 401 or (status in (403, 404) and not has_answered)


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait from the header, which has seconds or a date; None if it has neither."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def backoff(first: float, tries: int, jitter: random.Random) -> float:
    """Seconds to wait after so many tries: doubling, at most 30, half of it random."""
    return float(min(_LONGEST_S, first * 2 ** (tries - 1)) * jitter.uniform(0.5, 1.0))
