"""Work that tells what it does: a function with a listener becomes a generator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any

from dataenvgym.executors.errors import CarriedError, Done

Tell = Callable[[Any], None]


def narrate(
    work: Callable[[Tell], Any], carry: Callable[[BaseException], CarriedError] = CarriedError.of
) -> Iterator[Any]:
    """What `work` tells while it works in a thread, and then `Done` or a `CarriedError`.

    A generator that is closed early leaves the thread to itself.
    """
    told: SimpleQueue[Any] = SimpleQueue()

    def run() -> None:
        try:
            told.put(Done(work(told.put)))
        except BaseException as error:  # KeyboardInterrupt as well: whoever listens decides
            told.put(carry(error))

    Thread(target=run, name="narrated", daemon=True).start()
    while True:
        item = told.get()
        yield item
        if isinstance(item, Done | CarriedError):
            return
