"""The verdicts of BFCL's own multi-turn checker, in its checkout: one case a line."""

import json
import os
import sys

sys.path[0] = os.getcwd()

from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import (  # noqa: E402
    multi_turn_checker,
)


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number, line in enumerate(sys.stdin):
        case = json.loads(line)
        category = case["entry"]["id"].rsplit("_", 1)[0]
        found = multi_turn_checker(
            case["turns"], case["gold"], case["entry"], category, f"model{number}"
        )
        print(json.dumps([found["valid"], found.get("error_type")]), file=out, flush=True)


if __name__ == "__main__":
    main()
