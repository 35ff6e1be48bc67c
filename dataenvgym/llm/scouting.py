"""Sends one call ahead of the others, so that a server that refuses everything is asked once.

A wrong key or model is refused within milliseconds, but an answer may take a minute. If there is
neither after a second, the other calls follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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
