"""Warnings of a run: facts that the user should know although nothing failed.

Examples: an agent returned no records, a plan was cut to the budget, a check could not judge.
Any code may call `warn_run`. The runner receives the texts of its episode through `listening`,
shows them at once and saves them in the run directory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from dataenvgym.progress import Listeners
from dataenvgym.records.model import escaped

_log = logging.getLogger(__name__)
_listeners: Listeners[str] = Listeners("run_warnings")


def warn_run(text: str) -> None:
    """Warn the user of the current run: say what happened, with numbers, and what to do.

    Control characters and lone surrogates are escaped. The runner adds the iteration, and keeps
    the same text once per iteration.
    """
    text = escaped(text)
    # without any handler, logging would write it to the terminal, also if a display does
    if not _listeners.tell(text) or _log.hasHandlers():
        _log.warning("%s", text)


def listening(hear: Callable[[str], None]) -> AbstractContextManager[None]:
    """Pass the warnings of this context, from any thread, to `hear` until the block ends."""
    return _listeners.added(hear)
