"""Which failures are worth another try, and when.

Worth one: an answer that does not come (a lost connection, a timeout), and the statuses by which
a server says "not now": 408, 409, 429 and 5xx. Everything else will be the same the next time.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_LONGEST_S = 30.0


@dataclass(frozen=True)
class Trouble:
    """A try without an answer, after which another one may help.

    Attributes:
        reason: of the failure.
        disconnected: whether the connection could not be made or broke, or a server that can be
            brought back no longer knows the model: it was restarted.
        retry_after: the seconds that the server asks to wait, or None.
    """

    reason: str
    disconnected: bool = False
    retry_after: float | None = None


def is_transient(status: int) -> bool:
    """Whether a server that answers with this status may do better later."""
    return status in (408, 409, 429) or status >= 500


def refuses_all(status: int, *, has_answered: bool) -> bool:
    """Whether a server that answers with this status would refuse other questions too.

    That is so if it does not know the key (401). One that has answered before may forbid a single
    question (403), or has lost its model (404); one that has not does not let us in, or has no
    such model.
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
    """Seconds to wait after so many tries: doubling, at most 30, half of it left to chance."""
    return float(min(_LONGEST_S, first * 2 ** (tries - 1)) * jitter.uniform(0.5, 1.0))
