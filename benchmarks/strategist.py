"""Effect of a trained strategist on the goal score of a frozen speaker: pocket social.

    python -m benchmarks.strategist [--seeds 10]

The speaker, `pocket-social-v1`, is not trained. The strategist begins with the same weights, which
write one of their known strategies at random, and is trained on the scored records of its own tries
(EPO). Goal scores (0..10) are of the test split: the speaker alone, and advised by the strategist
before and after its training. The interval is for the mean over seeds (95%, Student's t).
Runs are kept in `benchmarks/results/runs` and resume after an interruption; `--fresh` starts over.
Prints a table and writes `benchmarks/results/strategist.json`.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.common import RESULTS, print_table, write_results
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.students.predictors import InProcessPredictor
from dataenvgym.tasks.metrics.estimators import estimate

RUNS = RESULTS / "runs"
HIGHEST = 10.0
STUDENT = "pocket-social-v1"
OPTIONS = (
    "task=pocket_social",
    "task.role=strategist",
    "task.sampling.temperature=0.7",
    "task.n_validation=48",
    "task.n_test=96",
    "+predictor@task.others.speaker=in_process",
    f"task.others.speaker.student={STUDENT}",
    "agent=open_ended",
    "agent/policy=free",
    "agent/engine=scored_tries",
    "agent.records_per_iteration=320",
    "environment.mode=incremental",
    "environment.replay=0",
    "trainer.num_train_epochs=3",
    "episode.iterations=2",
)


def strategist(seed: int) -> dict[str, Any]:
    """One episode: goal scores on the test split before and after, and wall seconds."""
    config = compose([*OPTIONS, f"seed={seed}"])
    environment = build_environment(config, RUNS / f"strategist-seed{seed}")
    began = time.perf_counter()
    summary = run_episode(
        environment, build_agent(config), iterations=config.episode.iterations, seed=seed
    )
    before, after = summary.test_score_before, summary.test_score_after
    assert before is not None
    assert after is not None
    scores = {"before": HIGHEST * before, "after": HIGHEST * after}
    seconds = time.perf_counter() - began
    return {"seed": seed, **scores, "gain": HIGHEST * (after - before), "seconds": seconds}


def alone() -> float:
    """The goal score of the speaker without a strategist, on the same scenes."""
    task = PocketSocialTask(n_test=96, split="test")
    completed = task.evaluate(InProcessPredictor(STUDENT))
    return HIGHEST * task.generate_performance_report(completed).score


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    options = parser.parse_args(argv)
    if options.fresh:
        for folder in RUNS.glob("strategist-seed*"):
            shutil.rmtree(folder)
    rows = [strategist(seed) for seed in range(options.seeds)]
    mean: dict[str, Any] = {name: fmean(row[name] for row in rows) for name in rows[0]}
    print_table([*rows, {**mean, "seed": "mean"}])
    gain, unadvised = estimate([row["gain"] for row in rows]), alone()
    shown = "" if gain.low is None else f", 95% interval {gain.low:.2f} to {gain.high:.2f}"
    print(f"gain {gain.mean:.2f}{shown}; the speaker alone: {unadvised:.2f}")
    interval = [gain.low, gain.high]
    write_results("strategist", {"rows": rows, "interval": interval, "alone": unadvised})


if __name__ == "__main__":
    main()
