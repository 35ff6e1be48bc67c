"""Warnings of a run: something that the user should know, although nothing failed.

Examples: an agent returned no records, a plan was cut to the budget, a check could not judge.
Call `warn_run` where it happens. `listening` passes the texts on; the runner uses it to show
them at once and to keep them in the run directory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from dataenvgym.progress import passing
from dataenvgym.records.model import escaped

_log = logging.getLogger(__name__)


def warn_run(text: str) -> None:
    """Warn the user of the run in progress: the event with its numbers, and the way out.

    Control characters and lone surrogates are escaped.

    The runner adds the iteration, and keeps the same text once for each iteration.
    """
    _log.warning("%s", escaped(text))


def listening(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass each warning, from any thread, to `show` until the block ends."""
    return passing(_log, logging.WARNING, lambda record: show(record.getMessage()))
