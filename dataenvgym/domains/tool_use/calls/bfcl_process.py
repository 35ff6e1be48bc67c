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


def answer(utils: Any, checker: Any, request: dict[str, Any], made: dict[str, int]) -> Any:
    """The results of the last step, or the verdict on a conversation, which is then forgotten.

    Args:
        made: how many steps of each session this process has made; the others are made first.
    """
    entry, session = request["entry"], request["session"]
    if "steps" in request:
        results: list[str] = []
        for calls in request["steps"][made.get(session, 0) :]:
            results, _ = utils.execute_multi_turn_func_call(
                calls,
                entry["initial_config"],
                entry["involved_classes"],
                session,
                entry["id"],
                long_context="long_context" in entry["id"],
            )
            made[session] = made.get(session, 0) + 1
        return {"results": results}
    try:
        category = entry["id"].rsplit("_", 1)[0]
        found = checker.multi_turn_checker(
            request["turns"], request["gold"], entry, category, session
        )
        return {"valid": found["valid"], "why": found.get("error_type", "")}
    finally:
        made.pop(session, None)
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
    made: dict[str, int] = {}
    for line in sys.stdin:
        signal.alarm(SECONDS)  # it ends this process, also within one call of C code
        try:
            found = answer(utils, checker, json.loads(line), made)
        except Exception as error:  # noqa: BLE001 - a row or a class of BFCL that fails
            found = {"error": f"{type(error).__name__}: {error}"}
        signal.alarm(0)
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # without the last words of the packages that were imported
