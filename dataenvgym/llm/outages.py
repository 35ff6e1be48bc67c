"""Restarts a dead server, once for all requests that it interrupted.

Each start of the server has a number, its generation. A caller that loses the connection passes the
generation in which its request began. The first such caller starts the revival, the others wait for
it, and later ones learn that a newer generation is already running.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from dataenvgym.errors import DataEnvGymError, ServerError
from dataenvgym.llm.loop import in_daemon_thread


class Revival:
    """Used in one event loop; `revive` is called in a thread, once at a time.

    Args:
        revive: returns once the server answers again, or raises.
        give_up: called once for each generation in which `revive` raised.
    """

    def __init__(
        self, revive: Callable[[], None], give_up: Callable[[DataEnvGymError], None]
    ) -> None:
        self.generation = 0
        self._revive = revive
        self._give_up = give_up
        self.under_way: asyncio.Task[None] | None = None
        self._errors: dict[int, DataEnvGymError] = {}

    async def after(self, generation: int) -> DataEnvGymError | None:
        """Wait for a server later than this generation's; return the error if none will come."""
        if generation == self.generation:
            if self.under_way is None:
                self.under_way = asyncio.create_task(self._bring_back())
            await asyncio.shield(self.under_way)
        return self._errors.get(generation)

    async def _bring_back(self) -> None:
        try:
            await in_daemon_thread(self._revive)
        except Exception as error:  # noqa: BLE001  each call that waits gets the error
            lost = error
            if not isinstance(lost, DataEnvGymError):
                lost = ServerError(f"the server died, and bringing it back failed: {error!r}")
                lost.__cause__ = error
            self._errors[self.generation] = lost
            self._give_up(lost)
        finally:
            self.generation += 1
            self.under_way = None


_AHEAD_S = 1.0


class Scout:
    """Used in one event loop.

    Args:
        is_wanted: whether a call is sent ahead; if not, this class does nothing.
        follow: called when the others may follow.
    """

    def __init__(self, is_wanted: bool, follow: Callable[[], None]) -> None:
        self.is_ahead = is_wanted
        self._is_wanted = is_wanted
        self._follow = follow
        self._clock: asyncio.TimerHandle | None = None

    def set_out(self) -> None:
        """Call it before a call is sent."""
        if self.is_ahead and self._clock is None:
            self._clock = asyncio.get_running_loop().call_later(_AHEAD_S, self.is_answered)

    def is_answered(self) -> None:
        """Call it when the server does not refuse everything."""
        if self.is_ahead:
            self.is_ahead = False
            self._stop_clock()
            self._follow()

    def is_refused(self) -> None:
        """Call it when the server refuses everything; the next call is then sent ahead again."""
        self.is_ahead = self._is_wanted
        self._stop_clock()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


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


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait from `retry-after-ms`, or from `Retry-After`, which has seconds or a date."""
    for name, unit in (("retry-after-ms", 0.001), ("Retry-After", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * unit)
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        return max(0.0, parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time())
    return None


def backoff(first: float, tries: int, jitter: random.Random) -> float:
    """Seconds to wait after so many tries: doubling, at most 30, half of it random."""
    return float(min(_LONGEST_S, first * 2 ** (tries - 1)) * jitter.uniform(0.5, 1.0))
