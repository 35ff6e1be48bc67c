"""The log file of a run: log messages of libraries while an episode runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from dataenvgym.secrets import redact

_current: ContextVar[Path | None] = ContextVar("log", default=None)


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Within the block, write the libraries' log messages to `path`, with tracebacks.

    Those of other episodes in this process are left out. The file is created with the first
    message.
    """
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    handler.addFilter(lambda record: _current.get() in (None, path))
    logging.getLogger().addHandler(handler)
    token = _current.set(path)
    try:
        yield
    finally:
        _current.reset(token)
        logging.getLogger().removeHandler(handler)
        handler.close()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
