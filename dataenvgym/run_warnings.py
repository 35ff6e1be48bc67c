"""Warnings of a run: facts that the user should know although nothing failed.

Examples: an agent returned no records, a plan was cut to the budget, a check could not judge.
Any code may call `warn_run`. The runner receives the texts through `listening`, shows them at once
and saves them in the run directory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from dataenvgym.progress import passing
from dataenvgym.records.model import escaped

_log = logging.getLogger(__name__)


def warn_run(text: str) -> None:
    """Warn the user of the current run: say what happened, with numbers, and what to do.

    Control characters and lone surrogates are escaped. The runner adds the iteration, and keeps
    the same text once per iteration.
    """
    _log.warning("%s", escaped(text))


def listening(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass each warning, from any thread, to `show` until the block ends."""
    return passing(_log, logging.WARNING, lambda record: show(record.getMessage()))
