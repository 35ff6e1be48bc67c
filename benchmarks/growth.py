"""Seconds by phase of real iterations, and their growth: iteration 20 against 2.

    python -m benchmarks.growth [ITERATIONS]

The pocket student with the default configuration, incremental mode.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.environments import PHASES
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode


def main(argv: Sequence[str] | None = None) -> None:
    """The table, and two figures from it."""
    arguments = sys.argv[1:] if argv is None else argv
    iterations = int(arguments[0]) if arguments else 20
    config = compose([f"episode.iterations={iterations}"])
    environment = build_environment(config)
    agent: Any = build_agent(config)
    summary = run_episode(environment, agent, iterations=iterations)
    rows = []
    for iteration in summary.iterations[1:]:
        seconds = iteration.seconds
        other = seconds["total"] - seconds["train"] - seconds["generate"]
        rows.append(
            {
                "iteration": iteration.iteration,
                "val_score": iteration.val_score,
                **{phase: seconds[phase] for phase in (*PHASES, "total")},
                "neither_train_nor_generate": other,
            }
        )
    # one iteration on a shared machine is noisy: compare the medians of three
    first, last = (statistics.median(r["total"] for r in part) for part in (rows[1:4], rows[-3:]))
    growth = rows[-1]["total"] / rows[1]["total"]
    largest = max(row["neither_train_nor_generate"] for row in rows)
    print_table(rows)
    print(f"iteration {iterations} takes {growth:.2f} times iteration 2")
    print(f"the last three take {last / first:.2f} times iterations 2 to 4 (medians)")
    print(f"neither training nor generation: at most {largest:.2f} s in an iteration")
    write_results(
        "growth",
        {
            "rows": rows,
            "growth": growth,
            "growth_of_medians": last / first,
            "largest_other_s": largest,
        },
    )
    assert isinstance(environment.unwrapped, TeachingEnvironment)
    environment.close()


if __name__ == "__main__":
    main()
