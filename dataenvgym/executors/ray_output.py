"""What Ray prints by itself, kept off our display."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_log = logging.getLogger(__name__)


@contextmanager
def raylet_messages_logged() -> Iterator[None]:
    """Within the block, log what Ray's raylets report, such as a dead worker.

    Ray prints it to the standard output, also with `log_to_driver=False`, and has no option
    against that. A Ray without the function that we replace prints as before.
    """
    worker: Any = importlib.import_module("ray._private.worker")
    printing = getattr(worker, "print_worker_logs", None)
    if printing is None:
        yield
        return
    worker.print_worker_logs = _log_lines
    try:
        yield
    finally:
        worker.print_worker_logs = printing


def _log_lines(data: dict[str, Any], *_: Any, **__: Any) -> None:
    for line in data.get("lines", ()):
        _log.warning("%s: %s", data.get("pid"), line)
