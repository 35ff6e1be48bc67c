"""The program that `bfcl_multi_turn` runs in a clone of BFCL (see `checkout`).

A session is one conversation: its calls change its own objects of BFCL's classes. BFCL's checker
runs all calls again, on new objects, beside the gold calls.
"""

import importlib
import json
import os
import signal
import sys
from typing import Any

SECONDS = 60


class TooLong(BaseException):
    """A call does not return in time; BFCL catches each Exception."""


def answer(utils: Any, checker: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The results of calls, or the verdict on a conversation, whose objects are then forgotten."""

    def end(*args: object) -> None:
        raise TooLong

    entry, session = request["entry"], request["session"]
    signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        if "calls" in request:
            results, _ = utils.execute_multi_turn_func_call(
                request["calls"],
                entry["initial_config"],
                entry["involved_classes"],
                session,
                entry["id"],
                long_context="long_context" in entry["id"],
            )
            return {"results": results}
        category = entry["id"].rsplit("_", 1)[0]
        found = checker.multi_turn_checker(
            request["turns"], request["gold"], entry, category, session
        )
        return {"valid": found["valid"], "why": found.get("error_type", "")}
    except TooLong:
        return {"error": f"{entry['id']}: a call did not return within {SECONDS} s"}
    finally:
        signal.alarm(0)
        if "calls" not in request:
            for name in [name for name in vars(utils) if name.startswith(f"{session}_")]:
                delattr(utils, name)


def main() -> None:
    """Answer each line of the standard input."""
    sys.path[0] = os.getcwd()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what BFCL prints must not mix with our answers
    package = "bfcl_eval.eval_checker.multi_turn_eval"
    utils = importlib.import_module(f"{package}.multi_turn_utils")
    checker = importlib.import_module(f"{package}.multi_turn_checker")
    for line in sys.stdin:
        try:
            found = answer(utils, checker, json.loads(line))
        except Exception as error:  # noqa: BLE001 - a row or a class of BFCL that fails
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # without the last words of the packages that were imported
