"""Whether the student really learns, and which strategy teaches better: the README's figures.

    python -m benchmarks.learning gain        the default episode, seeds 0, 1, 2
    python -m benchmarks.learning honesty     shuffled answers do not help; no look-up does as well
    python -m benchmarks.learning strategies  skill_list against random, ten seeds, paired

Runs are kept in `benchmarks/results/runs` and go on where they were interrupted; `--fresh` starts
anew. Each prints a table and writes `benchmarks/results/learning_<name>.json`.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, print_table, write_results
from dataenvgym.config import build_agent, build_environment, compose
from dataenvgym.environments import IterationFiles
from dataenvgym.episodes import Summary, run_episode
from dataenvgym.records import TrainingDatum
from dataenvgym.scoring import answers_equal, extract_final_answer
from dataenvgym.tasks.math.pocket import PocketMathTask

RUNS = RESULTS / "runs"
# two-sided 95% quantiles of Student's t by degrees of freedom
_T95 = {2: 4.303, 9: 2.262}


class ShuffledAnswers:
    """An agent whose records have each other's answers: right in form, wrong in substance."""

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


def episode(agent_name: str, seed: int, *, shuffled: bool = False) -> tuple[Summary, float, Path]:
    """One default episode with that agent: its summary, its wall seconds, its folder."""
    config = compose([f"agent={agent_name}", f"seed={seed}"])
    directory = RUNS / f"{agent_name}{'-shuffled' if shuffled else ''}-seed{seed}"
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


def gain() -> dict[str, Any]:
    """Score gains of the default episode at the best iteration."""
    agent = compose([]).agent.name
    rows = []
    for seed in (0, 1, 2):
        summary, seconds, _ = episode(agent, seed)
        rows.append({"agent": agent, "seed": seed, **_scores(summary), "seconds": round(seconds)})
    return {"rows": rows, "mean": _means(rows)}


def honesty() -> dict[str, Any]:
    """Shuffled answers, and a nearest-neighbour look-up over the training records."""
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


def strategies() -> dict[str, Any]:
    """skill_list against random at the same number of records, paired by seed."""
    rows = []
    for seed in range(10):
        informed, blind = episode("skill_list", seed)[0], episode("random", seed)[0]
        rows.append(
            {
                "seed": seed,
                "skill_list": informed.best.val_score,
                "random": blind.best.val_score,
                "difference": informed.best.val_score - blind.best.val_score,
                "test_difference": _test(informed) - _test(blind),
                "records": informed.iterations[-1].n_records_total,
                "records_random": blind.iterations[-1].n_records_total,
            }
        )
    return {
        "rows": rows,
        "mean": _means(rows),
        "difference_95": _interval([r["difference"] for r in rows]),
        "test_difference_95": _interval([r["test_difference"] for r in rows]),
    }


def look_up_score(directory: Path, best: int) -> float:
    """Validation score of answering as the most similar training record does (word overlap)."""
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
    """The words of a text, each with its place, so that order counts."""
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


def _interval(values: list[float]) -> tuple[float, float, float]:
    """Mean and 95% t interval."""
    mean = statistics.mean(values)
    half = _T95[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return round(mean, 4), round(mean - half, 4), round(mean + half, 4)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    figures = {"gain": gain, "honesty": honesty, "strategies": strategies}
    parser.add_argument("figure", choices=figures)
    parser.add_argument("--fresh", action="store_true", help="forget earlier runs")
    options = parser.parse_args(argv)
    if options.fresh:
        shutil.rmtree(RUNS, ignore_errors=True)
    result = figures[options.figure]()
    print_table([*result["rows"], {**result["mean"], "seed": "mean"}])
    for name in ("difference_95", "test_difference_95"):
        if name in result:
            mean, low, high = result[name]
            print(
                f"{name.removesuffix('_95')}: {mean:+.3f}, 95% interval {low:+.3f} to {high:+.3f}"
            )
    write_results(f"learning_{options.figure}", result)


if __name__ == "__main__":
    main()
