"""How far something long has come, told as it goes: "training: step 50 of 57, loss 0.208".

Whoever works calls `tell`; whoever shows it enters `listening`. It goes through a logger of this
module's name, so that nothing has to be handed through.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)


def tell(text: str) -> None:
    """Say how far it is, in a few words."""
    _log.info("%s", text)


@contextmanager
def listening(show: Callable[[str], None]) -> Iterator[None]:
    """Pass what is told, in any thread, to `show` until the block ends."""
    handler = _Shown(show)
    level = _log.level
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    try:
        yield
    finally:
        _log.removeHandler(handler)
        _log.setLevel(level)


class _Shown(logging.Handler):
    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())
