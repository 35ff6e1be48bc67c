"""Measure whether the student really learns: the figures of docs/figures.md.

    python -m benchmarks.learning gain       the default episode, seeds 0, 1, 2; --task pocket_code
                                             or pocket_tools, pocket_social
    python -m benchmarks.learning honesty    shuffled answers, and a look-up over the records

To compare strategies, use `dataenvgym study`.
Runs are kept in `benchmarks/results/runs` and resume after an interruption; `--fresh` starts over.
Each prints a table and writes `benchmarks/results/learning_<name>.json`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, print_table, write_results
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import IterationFiles
from dataenvgym.records import TrainingDatum
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.runs.episodes import Summary, run_episode
from dataenvgym.tasks.scoring import answers_equal, extract_final_answer

RUNS = RESULTS / "runs"
MATH = "pocket_math"


class ShuffledAnswers:
    """An agent whose records have shuffled answers: the form is right, the answers are wrong."""

    name = "shuffled"

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def __call__(self, completed: Any, predictor: Any) -> Sequence[TrainingDatum]:
        records = list(self.agent(completed, predictor))
        order = np.random.default_rng(self.agent.seed).permutation(len(records))
        return [
            record.model_copy(update={"output": records[int(i)].output})
            for record, i in zip(records, order, strict=True)
        ]

    def step(self) -> None:
        self.agent.step()

    def state_dict(self) -> Any:
        return self.agent.state_dict()

    def load_state_dict(self, state: Any) -> None:
        self.agent.load_state_dict(state)


def episode(
    agent_name: str, seed: int, *, task: str = MATH, shuffled: bool = False
) -> tuple[Summary, float, Path]:
    """One default episode with that agent: its summary, its wall seconds, its folder."""
    config = compose([f"task={task}", f"agent={agent_name}", f"seed={seed}"])
    directory = RUNS / f"{task}-{agent_name}{'-shuffled' if shuffled else ''}-seed{seed}"
    environment = build_environment(config, directory)
    agent: Any = build_agent(config)
    began = time.perf_counter()
    summary = run_episode(
        environment,
        ShuffledAnswers(agent) if shuffled else agent,
        iterations=config.episode.iterations,
        seed=seed,
    )
    return summary, time.perf_counter() - began, directory


def gain(task: str) -> dict[str, Any]:
    """Score gains of the default episode at the best iteration."""
    agent = compose([]).agent.name
    rows = []
    for seed in (0, 1, 2):
        summary, seconds, _ = episode(agent, seed, task=task)
        rows.append({"agent": agent, "seed": seed, **_scores(summary), "seconds": round(seconds)})
    return {"rows": rows, "mean": _means(rows)}


def honesty() -> dict[str, Any]:
    """Shuffled answers, and a nearest-neighbor look-up over the training records."""
    agent = compose([]).agent.name
    rows = []
    for seed in (0, 1, 2):
        good, _, directory = episode(agent, seed)
        bad, _, _ = episode(agent, seed, shuffled=True)
        final = bad.iterations[-1].val_score - bad.iterations[0].val_score
        rows.append(
            {
                "seed": seed,
                "gain_shuffled_mean": _mean_change(bad),
                "gain_shuffled_final": final,
                "gain_taught_mean": _mean_change(good),
                "student": good.best.val_score,
                "look_up": look_up_score(directory, good.best_iteration),
            }
        )
    return {"rows": rows, "mean": _means(rows)}


def look_up_score(directory: Path, best: int) -> float:
    """Validation score with the answer of the most similar training record (word overlap)."""
    records = [
        record
        for number in range(1, best + 1)
        for record in IterationFiles(directory / "iterations", number).read_records()
    ]
    known = [(_bag(r.prompt[-1].content), r.output) for r in records]  # type: ignore[union-attr]
    instances = PocketMathTask().instances
    right = 0
    for instance in instances:
        bag = _bag(instance.instruction)
        _, output = max(known, key=lambda pair: len(bag & pair[0]) / len(bag | pair[0]))
        answer = extract_final_answer(output)
        right += answer is not None and answers_equal(instance.answer or "", answer)
    return right / len(instances)


def _bag(text: str) -> frozenset[str]:
    """The words of a text, each with its position, so that order counts."""
    words = text.strip(".?").split()
    return frozenset([*words, *(f"{i} {word}" for i, word in enumerate(words))])


def _scores(summary: Summary) -> dict[str, float]:
    return {
        "val_before": summary.iterations[0].val_score,
        "val_best": summary.best.val_score,
        "val_gain": summary.val_score_gain,
        "test_before": summary.test_score_before or 0.0,
        "test_after": _test(summary),
        "test_gain": _test(summary) - (summary.test_score_before or 0.0),
        "records": summary.iterations[-1].n_records_total,
    }


def _test(summary: Summary) -> float:
    assert summary.test_score_after is not None
    return summary.test_score_after


def _mean_change(summary: Summary) -> float:
    base = summary.iterations[0].val_score
    return statistics.mean(i.val_score - base for i in summary.iterations[1:])


def _means(rows: list[dict[str, Any]]) -> dict[str, float]:
    names = [n for n, v in rows[0].items() if n != "seed" and isinstance(v, int | float)]
    return {n: round(statistics.mean(r[n] for r in rows), 4) for n in names}


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", choices=("gain", "honesty"))
    parser.add_argument(
        "--task",
        choices=(MATH, "pocket_code", "pocket_tools", "pocket_social"),
        default=MATH,
        help="of gain",
    )
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    options = parser.parse_args(argv)
    if options.fresh:
        shutil.rmtree(RUNS, ignore_errors=True)
    result = gain(options.task) if options.figure == "gain" else honesty()
    print_table([*result["rows"], {**result["mean"], "seed": "mean"}])
    name = f"gain_{options.task}" if options.figure == "gain" else "honesty"
    write_results(f"learning_{name}", result)


if __name__ == "__main__":
    main()
