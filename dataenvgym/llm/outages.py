"""Restarts a dead server, once for all requests that it interrupted.

Each start of the server has a number, its generation. A caller that loses the connection passes the
generation in which its request began. The first such caller starts the revival, the others wait for
it, and later ones learn that a newer generation is already running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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
        self._under_way: asyncio.Task[None] | None = None
        self._errors: dict[int, DataEnvGymError] = {}

    @property
    def is_under_way(self) -> bool:
        return self._under_way is not None

    async def after(self, generation: int) -> DataEnvGymError | None:
        """Wait for a server later than this generation's; return the error if none will come."""
        if generation == self.generation:
            if self._under_way is None:
                self._under_way = asyncio.create_task(self._bring_back())
            await asyncio.shield(self._under_way)
        return self._errors.get(generation)

    async def _bring_back(self) -> None:
        try:
            await in_daemon_thread(self._revive)
        except Exception as error:  # noqa: BLE001  each call that waits gets the error
            lost = _attributed(error)
            self._errors[self.generation] = lost
            self._give_up(lost)
        finally:
            self.generation += 1
            self._under_way = None


def _attributed(error: Exception) -> DataEnvGymError:
    if isinstance(error, DataEnvGymError):
        return error
    lost = ServerError(f"the server died, and bringing it back failed: {error!r}")
    lost.__cause__ = error
    return lost


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
