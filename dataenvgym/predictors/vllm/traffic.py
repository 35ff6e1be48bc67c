"""The requests of this process to a server, and the adapters that it has put there.

Questions pass while adapters stay; adapters change while no question is on its way.

Adding an adapter while requests were in flight has once sent them to the wrong one (vLLM issue
47724), so the two take turns. A change that waits goes before questions that come after it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary


class Traffic:
    """Counts the questions on their way to one server, from this process.

    Attributes:
        adapters: the folder of each adapter that this process has put there, by name.
        n_wakes: how often this process has woken the server.
    """

    def __init__(self) -> None:
        self.adapters: dict[str, Path] = {}
        self.n_wakes = 0
        self._condition = threading.Condition()
        self._on_the_way = 0
        self._is_stopped = False

    def enter(self) -> None:
        """One more question; waits while an adapter changes, or is about to."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._on_the_way += 1

    def leave(self) -> None:
        """One has been answered, or given up."""
        with self._condition:
            self._on_the_way -= 1
            self._condition.notify_all()

    def stop(self) -> None:
        """Let no question set out until `go`, and wait for those on their way."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._is_stopped = True
            try:
                self._condition.wait_for(lambda: not self._on_the_way)
            except BaseException:
                self.go()
                raise

    def go(self) -> None:
        """Let questions set out again."""
        with self._condition:
            self._is_stopped = False
            self._condition.notify_all()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """No question is on its way within the block, and none sets out."""
        self.stop()
        try:
            yield
        finally:
            self.go()


_BY_SERVER: WeakValueDictionary[str, Traffic] = WeakValueDictionary()
_LOCK = threading.Lock()


def traffic_to(base_url: str) -> Traffic:
    """The same for all in this process who ask the server there."""
    with _LOCK:
        return _BY_SERVER.setdefault(base_url, Traffic())
