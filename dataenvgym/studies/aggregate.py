"""Scores of strategies on a suite of tasks: one figure over all tasks, and the same for each task.

The score of a run is its area (see `SeedResult`) divided by the mean area of its task's ceiling: 0
is the base student, 1 the ceiling. Scores are aggregated as Agarwal et al. recommend (Deep
Reinforcement Learning at the Edge of the Statistical Precipice, 2021): by interquartile mean,
performance profile and probability of improvement, with intervals of a stratified bootstrap, which
draws seeds within each task.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dataenvgym.records import Model
from dataenvgym.studies.statistics import (
    Pair,
    Test,
    compare_pairs,
    over_tasks,
    rank_agreement,
    ranking,
)
from dataenvgym.tasks.metrics.estimators import Estimate

if TYPE_CHECKING:
    from dataenvgym.studies.results import TaskResult

TaskScores = Mapping[str, Mapping[int, float]]
"""The scores of one strategy: by task and seed."""
Floats = NDArray[np.float64]
RESAMPLES = 2000
"""Draws of a bootstrap."""


class Interval(Model):
    """A figure and its 95% interval, which needs two seeds or more on each task."""

    value: float
    low: float | None = None
    high: float | None = None


class StrategyScore(Model):
    """A strategy on one or more tasks.

    Attributes:
        n: the number of runs.
        iqm: the interquartile mean of their scores, over seeds and tasks.
        profile: the share of runs with a score above each of the thresholds, mean over tasks.
        improvement: for each other strategy, the probability that a run of this one has the higher
            score, mean over tasks; on the seeds that both have.
    """

    strategy: str
    n: int
    iqm: Interval
    profile: tuple[Interval, ...]
    improvement: dict[str, Interval]


class SuiteScores(Model):
    """The scores of a suite.

    Attributes:
        overall: over all tasks in `by_task`; strategies with a run on each of them.
        by_task: the same figures for each task alone.
        left_out: tasks without a score, and why.
        ranking, pairs: of the strategies in `overall` (see `statistics`).
        pairs_by_task: all pairs of strategies on each task, with a correction of their own.
    """

    thresholds: tuple[float, ...]
    overall: tuple[StrategyScore, ...]
    by_task: dict[str, tuple[StrategyScore, ...]]
    left_out: dict[str, str] = {}
    ranking: dict[str, Estimate] = {}
    rank_agreement: float | None = None
    pairs: tuple[Pair, ...] = ()
    pairs_by_task: dict[str, tuple[Pair, ...]] = {}


def suite_scores(
    tasks: Sequence[TaskResult], test: Test, rng: np.random.Generator
) -> SuiteScores | None:
    """The scores of a study; None with fewer than two tasks that have a floor and a ceiling."""
    scores: dict[str, dict[str, dict[int, float]]] = {}
    left_out: dict[str, str] = {}
    for task in tasks:
        areas = [one.measures["area"] for one in task.strategies if one.role == "ceiling"]
        if not areas or areas[0].mean is None:
            left_out[task.task] = "it has no ceiling"
        elif (areas[0].mean if areas[0].low is None else areas[0].low) <= 0:
            left_out[task.task] = f"the area of its ceiling, {areas[0].mean:+.3f}, is not above 0"
        else:
            for one in task.strategies:
                if one.role == "strategy":
                    own = {run.seed: run.area / areas[0].mean for run in one.seeds}
                    scores.setdefault(one.name, {})[task.task] = own
    if len(tasks) - len(left_out) < 2 or (found := aggregate(scores, rng)) is None:
        return None
    complete = {one.strategy: over_tasks(scores[one.strategy]) for one in found.overall}
    by_task = {
        task: {name: of[task] for name, of in scores.items() if task in of}
        for task in found.by_task
    }
    more = {
        "left_out": left_out,
        "ranking": ranking(complete),
        "rank_agreement": rank_agreement(complete),
        "pairs": compare_pairs(complete, test),
        "pairs_by_task": {task: compare_pairs(of, test) for task, of in by_task.items()},
    }
    return found.model_copy(update=more)


def aggregate(strategies: Mapping[str, TaskScores], rng: np.random.Generator) -> SuiteScores | None:
    """Aggregate the scores of strategies on tasks; None without a score."""
    tasks = list(dict.fromkeys(task for scores in strategies.values() for task in scores))
    values = [v for scores in strategies.values() for one in scores.values() for v in one.values()]
    if not values:
        return None
    steps = math.ceil(20 * min(2.0, max(1.0, *values)))
    thresholds = tuple(i / 20 for i in range(steps + 1))

    def on(some: Sequence[str]) -> tuple[StrategyScore, ...]:
        complete = {
            name: {task: scores[task] for task in some}
            for name, scores in strategies.items()
            if all(scores.get(task) for task in some)
        }
        return tuple(_strategy_score(name, complete, thresholds, rng) for name in complete)

    return SuiteScores(
        thresholds=thresholds, overall=on(tasks), by_task={task: on([task]) for task in tasks}
    )


def _strategy_score(
    name: str,
    strategies: Mapping[str, TaskScores],
    thresholds: Sequence[float],
    rng: np.random.Generator,
) -> StrategyScore:
    own = strategies[name]
    runs = [np.array([one[seed] for seed in sorted(one)]) for one in own.values()]
    sizes = [len(one) for one in runs]
    above = [one[:, None] > np.array(thresholds) for one in runs]
    drawn = np.mean([_weights(len(one), rng) @ one for one in above], axis=0)
    shares = np.mean([one.mean(axis=0) for one in above], axis=0)
    better = {
        other: probability_of_improvement(own, of, rng)
        for other, of in strategies.items()
        if other != name
    }
    return StrategyScore(
        strategy=name,
        n=sum(sizes),
        iqm=interquartile_interval(runs, rng),
        profile=tuple(_interval(shares[i], drawn[:, i], sizes) for i in range(len(thresholds))),
        improvement={other: found for other, found in better.items() if found is not None},
    )


def interquartile_mean(scores: ArrayLike) -> Floats:
    """The mean without the lowest and the highest quarter, over the last axis."""
    from scipy import stats

    return np.asarray(stats.trim_mean(np.asarray(scores, dtype=float), 0.25, axis=-1))


def interquartile_interval(tasks: Sequence[Floats], rng: np.random.Generator) -> Interval:
    """The interquartile mean of the scores on these tasks."""
    drawn = [one[rng.integers(0, len(one), (RESAMPLES, len(one)))] for one in tasks]
    return _interval(
        float(interquartile_mean(np.concatenate(tasks))),
        interquartile_mean(np.concatenate(drawn, axis=1)),
        [len(one) for one in tasks],
    )


def probability_of_improvement(
    ones: TaskScores, others: TaskScores, rng: np.random.Generator
) -> Interval | None:
    """The chance that a run of one strategy has a higher score than a run of another.

    It is the Mann-Whitney statistic divided by the number of pairs, where equal scores count half,
    averaged over tasks. The bootstrap draws the same seeds for both strategies, because their runs
    share problems, student and order. None if they share no seed on some task.
    """
    values, drawn, sizes = [], [], []
    for task, scores in ones.items():
        seeds = sorted(scores.keys() & others[task].keys())
        if not seeds:
            return None
        one, other = (np.array([of[task][seed] for seed in seeds]) for of in (ones, others))
        wins = (one[:, None] > other) + 0.5 * (one[:, None] == other)
        weights = _weights(len(seeds), rng)
        values.append(wins.mean())
        drawn.append(((weights @ wins) * weights).sum(axis=1))
        sizes.append(len(seeds))
    return _interval(float(np.mean(values)), np.mean(drawn, axis=0), sizes)


def _weights(n: int, rng: np.random.Generator) -> Floats:
    """How often each of n seeds is drawn, as a share of n: a row for each resample."""
    return rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n


def _interval(value: float, resampled: Floats, sizes: Sequence[int]) -> Interval:
    """The expanded percentile interval for these numbers of seeds; the plain one is too narrow.

    The tails are Phi(sqrt(n / (n - 1)) t), with t of Student's distribution (Hesterberg, What
    Teachers Should Know About the Bootstrap, 2015).
    """
    if min(sizes) < 2:
        return Interval(value=value)
    from scipy import stats

    n, freedom = sum(sizes) / len(sizes), sum(sizes) - len(sizes)
    tail = float(stats.norm.cdf(math.sqrt(n / (n - 1)) * stats.t.ppf(0.025, freedom)))
    low, high = np.quantile(resampled, [tail, 1 - tail])
    return Interval(value=value, low=float(low), high=float(high))
