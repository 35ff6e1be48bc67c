"""The log file of a run: log messages of libraries while an episode runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dataenvgym.secrets import redact


@contextmanager
def log_to(path: Path) -> Iterator[None]:
    """Within the block, write the libraries' log messages to `path`, with tracebacks.

    The file is created with the first message.
    """
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace", delay=True)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(_Redacting("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


class _Redacting(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
