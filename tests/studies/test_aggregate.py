"""Scores over a suite of tasks."""

import numpy as np
import pytest
from scipy import stats

from dataenvgym.runs.documents import markdown
from dataenvgym.studies.aggregate import (
    Interval,
    aggregate,
    interquartile_interval,
    interquartile_mean,
    probability_of_improvement,
)
from dataenvgym.studies.comparison import sum_up
from dataenvgym.studies.results import StrategyRuns
from dataenvgym.studies.tables import study_document
from tests.studies.conftest import made_run, runs_of


def rng():
    return np.random.default_rng(0)


def by_task(*tasks):
    return {f"t{i}": dict(enumerate(scores)) for i, scores in enumerate(tasks)}


def test_the_interquartile_mean_leaves_out_the_lowest_and_the_highest_quarter():
    assert interquartile_mean([-50, 1, 2, 3, 4, 5, 6, 99]) == 3.5
    assert interquartile_mean([0.1, 0.2, 0.9]) == pytest.approx(0.4)  # a quarter of 3 is no run
    assert list(interquartile_mean([[9, 0, 1, 2], [0, 0, 0, 1]])) == [1.5, 0.0]


def test_the_probability_of_improvement_counted_by_hand():
    # task 0: 3 of 4 pairs are higher; task 1: one higher, two equal, one lower
    found = probability_of_improvement(by_task([3, 5], [1, 2]), by_task([4, 1], [1, 2]), rng())
    assert found.value == (3 / 4 + 2 / 4) / 2


def test_the_probability_of_improvement_is_the_mann_whitney_statistic_of_each_task():
    one, other = rng().normal(0.1, 1, (3, 8)), rng().normal(0, 1, (3, 8))[::-1]
    u = [stats.mannwhitneyu(a, b).statistic / 64 for a, b in zip(one, other, strict=True)]
    found = probability_of_improvement(by_task(*one), by_task(*other), rng())
    assert found.value == pytest.approx(np.mean(u))
    assert found.low < found.value < found.high


def test_only_seeds_that_both_have_are_compared():
    one, other = {"t": {0: 1.0, 1: 9.0}}, {"t": {1: 5.0, 2: 0.0}}
    assert probability_of_improvement(one, other, rng()).value == 1.0
    assert probability_of_improvement(one, {"t": {7: 0.0}}, rng()) is None


def test_a_profile_is_the_share_of_runs_above_each_threshold():
    found = aggregate({"a": by_task([0.2, 0.4], [0.6, 0.8])}, rng())
    profile = dict(zip(found.thresholds, found.overall[0].profile, strict=True))
    assert [profile[t].value for t in (0.0, 0.2, 0.5, 0.8, 1.0)] == [1.0, 0.75, 0.5, 0.0, 0.0]
    (alone,) = found.by_task["t1"]
    assert alone.iqm.value == pytest.approx(0.7)
    assert alone.n == 2


def test_the_same_generator_gives_the_same_intervals_and_one_seed_gives_none():
    scores = {"a": by_task(*rng().normal(0.5, 0.1, (2, 6)))}
    assert aggregate(scores, rng()) == aggregate(scores, rng())
    assert aggregate(scores, rng()) != aggregate(scores, np.random.default_rng(1))
    (single,) = aggregate({"a": by_task([0.2], [0.6])}, rng()).overall
    assert single.iqm == Interval(value=0.4)


def test_seeds_are_drawn_within_tasks():
    """Tasks that differ, seeds that do not: the interval has no width."""
    (one,) = aggregate({"a": by_task([0.1] * 5, [0.9] * 5)}, rng()).overall
    assert one.iqm.low == one.iqm.high == 0.5


def test_intervals_of_ten_tasks_and_five_seeds_cover_the_truth():
    """`python -m benchmarks.study_statistics` has the figures; this is a small part of it."""
    random, means = rng(), np.linspace(0.3, 0.7, 10)
    scale = np.linspace(0.05, 0.15, 10)
    many = random.normal(means[:, None], scale[:, None], (10, 20_000))
    truth, covered = interquartile_mean(many.ravel()), 0
    for _ in range(120):
        runs = random.normal(means[:, None], scale[:, None], (10, 5))
        found = interquartile_interval(runs, random)
        covered += found.low <= truth <= found.high
    assert 0.90 <= covered / 120 <= 0.99


def results(*tasks):
    """Of tasks, each with a name, the validation score of its ceiling, and perhaps "lost"."""

    def runs(name, score, test):
        made = {s: made_run(s, (0.5, score + 0.01 * s), test) for s in range(4)}
        return StrategyRuns(name, "strategy", made)

    found = {
        name: [
            runs("random", 0.6, 0.5),
            StrategyRuns("edge", "strategy", {}) if lost else runs("edge", 0.7, 0.6),
            runs_of("gold", range(4), (0.5, ceiling), 0.9),
        ]
        for name, ceiling, *lost in tasks
    }
    return sum_up(found, name="s", command="", baseline="random", test=None, allow_unequal=())


def test_a_score_is_the_area_between_floor_and_ceiling():
    found = results(("easy", 0.9), ("hard", 0.7)).suite
    edge = {task: of_task[1].iqm.value for task, of_task in found.by_task.items()}
    assert edge == pytest.approx({"easy": 0.215 / 0.4, "hard": 0.215 / 0.2})
    assert found.overall[1].improvement["random"].value == 1.0


def test_tables_and_notes_show_the_suite_and_every_task(shown):
    found = results(("easy", 0.9), ("hard", 0.7))
    shown("suite_md.txt", markdown(study_document(found)))
    assert [pair.better for pair in found.suite.pairs_by_task["hard"]] == ["edge"]


def test_a_task_without_a_ceiling_above_the_floor_is_left_out_and_named():
    found = results(("easy", 0.9), ("hard", 0.7), ("impossible", 0.5))
    assert list(found.suite.by_task) == ["easy", "hard"]
    assert "impossible: the area of its ceiling, +0.000" in markdown(study_document(found))
    assert results(("easy", 0.9), ("impossible", 0.5)).suite is None
    assert results(("easy", 0.9)).suite is None


def test_a_strategy_that_lacks_a_task_has_no_score_over_all_of_them():
    found = results(("easy", 0.9), ("hard", 0.7, "lost"))
    assert [one.strategy for one in found.suite.overall] == ["random"]
    assert [one.strategy for one in found.suite.by_task["easy"]] == ["random", "edge"]
