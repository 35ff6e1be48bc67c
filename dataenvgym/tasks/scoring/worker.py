"""The grading worker: a process of its own in which math-verify runs.

    python -m dataenvgym.tasks.scoring.worker

It exchanges lines of JSON. After its imports it writes `{"ready": true}`. Then it answers every
line `{"gold": ..., "answer": ..., "limit": seconds}` on standard input with one line:

    {"equal": true}             both were parsed and compared
    {"equal": false}            ... or the answer could not be parsed
    {"parsed": false}           for `"answer": null`: whether the gold can be parsed
    {"error": "..."}            the check failed; nothing is known about the pair
                                (with `"exhausted": true` if the pair caused it: it took too much
                                memory, or sympy cannot handle it)

It ends with its standard input. The kernel kills it one second after the limit, even if its parent
is gone and it hangs in an arithmetic operation, so no worker outlives its use.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

MEMORY_LIMIT = 3 * 1024**3
_GRACE = 1.0
_ERROR_LENGTH = 500


def main() -> None:
    """Serve requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    _prepare_process()
    try:
        from dataenvgym.tasks.scoring.symbolic import can_parse, symbolically_equal
    except ImportError as error:
        _write(replies, {"error": f"the grader could not be imported: {error}"})
        return
    _write(replies, {"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, request["limit"] + _GRACE)
        reply = _reply(request, can_parse, symbolically_equal)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _write(replies, reply)


def _prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > MEMORY_LIMIT:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, hard))
    logging.disable(logging.CRITICAL)


def _reply(
    request: dict[str, Any],
    can_parse: Callable[[str], bool],
    symbolically_equal: Callable[[str, str], bool],
) -> dict[str, Any]:
    try:
        if request["answer"] is None:
            return {"parsed": can_parse(request["gold"])}
        return {"equal": symbolically_equal(request["gold"], request["answer"])}
    except MemoryError:
        return {"error": "the symbolic check took too much memory", "exhausted": True}
    except Exception as error:  # noqa: BLE001  whatever sympy raises belongs to this pair alone
        return {"error": f"{type(error).__name__}: {error}"[:_ERROR_LENGTH], "exhausted": True}


def _write(stream: Any, reply: dict[str, Any]) -> None:
    stream.write(json.dumps(reply) + "\n")
    stream.flush()


if __name__ == "__main__":
    main()
