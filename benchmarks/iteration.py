"""An iteration with real LLaMA-Factory and vLLM: the published protocol against ours.

    python -m benchmarks.iteration [ITERATIONS]

The same episode twice, on the pocket student:

    published   the server is stopped, a fresh `llamafactory-cli` trains on all data so far, and the
                server is started again with the adapter
    ours        a warm worker trains on the new data, and the adapter is swapped into the running
                server

The compared time excludes pure training (LLaMA-Factory's own `train_runtime`) and generation.
One-time starts (the first server, the worker's import) are in iterations 0 and 1 and are listed
separately. Needs both external environments.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.environments.teaching import TeachingEnvironment
from dataenvgym.interfaces import TrainingRun
from dataenvgym.records import TrainingDatum
from dataenvgym.runs.config import build_agent, build_environment, build_task, compose
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_json
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.trainers import LlamaFactoryTrainer

SIZES = (
    "task.n_validation=200",
    "task.n_test=20",
    "agent.records_per_iteration=200",
    "environment.replay=100",
)
TRAINING: dict[str, Any] = {"num_train_epochs": 3.0, "threads": 1}


class PublishedProtocol(VllmPredictor):
    """The student as in published research code: trainer and server never run together."""

    def train(self, training_data: Sequence[TrainingDatum], run: TrainingRun) -> None:
        self.close()
        folder = self.train_on(training_data, run)
        with run.phase("load"):
            self.load(folder)


def main(argv: Sequence[str] | None = None) -> None:
    """Both episodes, and three figures from them."""
    arguments = sys.argv[1:] if argv is None else argv
    iterations = int(arguments[0]) if arguments else 5
    cold, warm = (LlamaFactoryTrainer(warm=is_warm, **TRAINING) for is_warm in (False, True))
    published = _measure("published", PublishedProtocol(trainer=cold), "accumulate", iterations)
    ours = _measure("ours", VllmPredictor(trainer=warm), "incremental", iterations)
    warm.close()
    print_table([*published, *ours])

    outside = {
        name: statistics.fmean(row["outside"] for row in rows[2:])
        for name, rows in (("published", published), ("ours", ours))
    }
    share = outside["ours"] / outside["published"]
    growth = ours[-1]["total"] / ours[2]["total"]
    starts = {name: rows[0]["total"] for name, rows in (("published", published), ("ours", ours))}
    print(f"one-off, in iteration 0: {starts['published']:.1f} s and {starts['ours']:.1f} s")
    print(f"one-off, in iteration 1 of ours: {ours[1]['outside'] - outside['ours']:.1f} s")
    print(
        f"outside training and generation, iterations 2 to {iterations}: "
        f"{outside['published']:.1f} s and {outside['ours']:.1f} s, a share of {share:.2f}"
    )
    print(f"iteration {iterations} of ours takes {growth:.2f} times iteration 2")
    write_results(
        "iteration",
        {"rows": [*published, *ours], "outside_s": outside, "share": share, "growth": growth},
    )


def _measure(
    name: str, predictor: VllmPredictor, mode: str, iterations: int
) -> list[dict[str, Any]]:
    config = compose([*SIZES, f"environment.mode={mode}"])
    with tempfile.TemporaryDirectory(prefix="dataenvgym-") as folder:
        environment = build_environment(
            config, Path(folder, "run"), task=build_task(config), predictor=predictor
        )
        agent: Any = build_agent(config)
        run_episode(environment, agent, iterations=iterations)
        teaching = environment.unwrapped
        assert isinstance(teaching, TeachingEnvironment)
        rows = [_row(name, teaching, number) for number in range(iterations + 1)]
        environment.close()
    predictor.close()
    return rows


def _row(name: str, teaching: TeachingEnvironment, number: int) -> dict[str, Any]:
    result = teaching.results[number]
    report = teaching.directory / "iterations" / f"{number:03d}" / "all_results.json"
    training = float(read_json(report)["train_runtime"]) if report.exists() else 0.0
    seconds = result.seconds
    generation = seconds.get("generate", 0.0)
    return {
        "protocol": name,
        "iteration": number,
        "val_score": result.report.score,
        "pure_training": training,
        "generation": generation,
        "train_phase": seconds.get("train", 0.0),
        "load_phase": seconds.get("load", 0.0),
        "total": seconds["total"],
        "outside": seconds["total"] - training - generation,
    }


if __name__ == "__main__":
    main()
