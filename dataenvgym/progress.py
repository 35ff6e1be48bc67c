"""How far something long has come, told as it goes: "training: step 50 of 57, loss 0.208".

Working code calls `tell`; code that shows it enters `listening`. It goes through a logger of this
module's name, so that nothing has to be handed through.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

_log = logging.getLogger(__name__)


def tell(text: str) -> None:
    """Say how far it is, in a few words."""
    _log.info("%s", text)


def listening(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass what is told, in any thread, to `show` until the block ends."""
    return passing(_log, logging.INFO, show)


@contextmanager
def passing(log: logging.Logger, level: int, show: Callable[[str], None]) -> Iterator[None]:
    """Pass the messages of a logger, from that level on, to `show` until the block ends."""
    handler = _Shown(show)
    before = log.level
    log.addHandler(handler)
    log.setLevel(level)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


class _Shown(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())
