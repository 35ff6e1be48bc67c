"""The requests of this process to a server, and the adapters that it has loaded there.

Questions run while adapters stay; adapters change while no questions run.

Adding an adapter during requests has once sent them to the wrong one (vLLM issue 47724), so the two
take turns. A waiting change goes before later questions.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary


class AdapterLock:
    """Counts the questions of this process at one server.

    Attributes:
        adapters: the folder of each adapter that this process has loaded there, by name.
        n_wakes: how often this process has woken the server.
    """

    def __init__(self) -> None:
        self.adapters: dict[str, Path] = {}
        self.n_wakes = 0
        self._condition = threading.Condition()
        self._on_the_way = 0
        self._is_stopped = False

    def enter(self) -> None:
        """Begin a question; waits while an adapter changes, or is about to."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._on_the_way += 1

    def leave(self) -> None:
        """End a question that was answered or given up."""
        with self._condition:
            self._on_the_way -= 1
            self._condition.notify_all()

    def stop(self) -> None:
        """Let no question begin until `go`, and wait for those in progress."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_stopped)
            self._is_stopped = True
            try:
                self._condition.wait_for(lambda: not self._on_the_way)
            except BaseException:
                self.go()
                raise

    def go(self) -> None:
        """Let questions begin again."""
        with self._condition:
            self._is_stopped = False
            self._condition.notify_all()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the block, no question is in progress, and none begins."""
        self.stop()
        try:
            yield
        finally:
            self.go()


_BY_SERVER: WeakValueDictionary[str, AdapterLock] = WeakValueDictionary()
_LOCK = threading.Lock()


def adapter_lock_of(base_url: str) -> AdapterLock:
    """The lock shared by all users of the server in this process."""
    with _LOCK:
        return _BY_SERVER.setdefault(base_url, AdapterLock())
