"""One call goes ahead of the others, so that a server that refuses everything is asked once.

A wrong key or model is refused within milliseconds, an answer may take a minute: after a second
without either the others follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_AHEAD_S = 1.0


class Scout:
    """Lives in one event loop.

    Args:
        is_wanted: whether any call goes ahead; if not, nothing here happens.
        follow: called when the others may follow.
    """

    def __init__(self, is_wanted: bool, follow: Callable[[], None]) -> None:
        self.is_ahead = is_wanted
        self._is_wanted = is_wanted
        self._follow = follow
        self._clock: asyncio.TimerHandle | None = None

    def set_out(self) -> None:
        """A call is about to be sent."""
        if self.is_ahead and self._clock is None:
            self._clock = asyncio.get_running_loop().call_later(_AHEAD_S, self.is_answered)

    def is_answered(self) -> None:
        """The server does not refuse everything."""
        if self.is_ahead:
            self.is_ahead = False
            self._stop_clock()
            self._follow()

    def is_refused(self) -> None:
        """The server refuses everything; the next call goes ahead again."""
        self.is_ahead = self._is_wanted
        self._stop_clock()

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
