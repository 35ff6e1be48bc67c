"""An asyncio event loop in a daemon thread of its own, for synchronous callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_PATIENCE_S = 10.0


class LoopThread:
    """Runs callbacks and coroutines from any thread, until `stop`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def soon(self, callback: Callable[..., object], *args: Any) -> bool:
        """Let the loop call `callback(*args)`; False if the loop has ended."""
        with self._lock:
            if not self._ended:
                self._loop.call_soon_threadsafe(callback, *args)
            return not self._ended

    def start(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Future[T]:
        """Let the loop run `function(*args)`. Cancelled if the loop ends first."""
        future: Future[T] = Future()
        with self._lock:
            if not self._ended:
                return asyncio.run_coroutine_threadsafe(function(*args), self._loop)
        future.cancel()
        return future

    def stop(self, finish: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `finish`, then end the loop and its thread; wait unless called in the loop."""

        async def finish_and_stop() -> None:
            try:
                await finish()
            finally:
                self._loop.stop()

        self.start(finish_and_stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE_S)

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            with self._lock:
                self._ended = True
            self._loop.run_until_complete(_cancel_others())
        finally:
            self._loop.close()


async def _cancel_others() -> None:
    await asyncio.sleep(0)  # the last callbacks become tasks
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
