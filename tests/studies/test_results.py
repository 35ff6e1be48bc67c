"""Runs summed up."""

import pytest

from dataenvgym.studies.results import StrategyRuns, task_result
from tests.studies.conftest import made_run, runs_of


def strategies():
    good = {s: made_run(s, (0.5, 0.6), 0.6 + 0.01 * s) for s in (0, 1, 2)}
    return [
        runs_of("base", range(4), (0.5, 0.55), 0.5),
        StrategyRuns("good", "strategy", good, {3: "lost"}),
        runs_of("bad", (1, 2, 3), (0.5, 0.4), 0.4),
        runs_of("gold", [0], (0.5, 0.9), 0.9),
    ]


def summed(*runs, test="t", **more):
    return task_result("t", runs, baseline=runs[0].name, test=test, **more)


def alone(*runs):
    """The result of a strategy with these runs."""
    return summed(StrategyRuns("a", "strategy", dict(enumerate(runs)))).strategies[0]


def test_pairs_are_compared_on_the_seeds_that_both_have():
    base, good, bad, gold = summed(*strategies(), test="sign_flip").strategies
    assert base.comparisons == gold.comparisons == {}
    assert good.comparisons["test_gain"].seeds == (0, 1, 2)
    assert bad.comparisons["test_gain"].seeds == (1, 2, 3)
    assert good.comparisons["test_gain"].difference.mean == pytest.approx(0.11)
    assert bad.comparisons["test_gain"].difference.mean == pytest.approx(-0.1)
    assert [*good.missing] == [3]


def test_ps_are_adjusted_for_the_strategies_compared_and_not_for_the_ceiling():
    _, good, bad, _ = summed(*strategies(), test="sign_flip").strategies
    assert good.comparisons["test_gain"].p == 0.25
    assert good.comparisons["test_gain"].p_holm == bad.comparisons["test_gain"].p_holm == 0.5
    t = summed(*strategies()).strategies[1]
    assert t.comparisons["test_gain"].p == t.comparisons["test_gain"].p_t < 0.01


def test_a_strategys_gain_is_that_of_the_iteration_that_validation_chose():
    found = alone(made_run(0, (0.5, 0.8, 0.6), 0.7))
    assert found.measures["val_gain"].mean == pytest.approx(0.3)
    assert found.measures["area"].mean == pytest.approx((0.3 + 0.1) / 2)
    assert found.measures["test_gain"].mean == pytest.approx(0.3)
    assert found.seeds[0].best_iteration == 1
    assert [point.mean for point in found.curve] == [0.5, 0.8, 0.6]


def test_the_base_student_is_the_floor_and_says_whether_it_varies():
    none = StrategyRuns("none", "floor", {0: made_run(0, (0.5, 0.5))})
    floor = summed(*strategies(), none).floor
    assert floor.deterministic
    assert (floor.val_score, floor.test_score, floor.n_runs) == (0.5, 0.4, 12)
    found = summed(*strategies(), runs_of("x", [0], (0.7, 0.8))).floor
    assert not found.deterministic
    assert found.val_score == pytest.approx((11 * 0.5 + 0.7) / 12)


def test_an_unpriced_teacher_has_no_cost_and_not_a_cost_of_zero():
    unpriced = alone(made_run(0, (0.5, 0.6), cost=0.5), made_run(1, (0.5, 0.6), cost=None))
    assert unpriced.measures["cost"].mean is None
    assert alone(made_run(0, (0.5, 0.6))).measures["cost"].mean == 0.0


def test_the_instances_error_averages_over_seeds_first():
    # instance c gains 1 and 0 in two seeds, d gains 0 and 0: means .5 and 0, sd .3536, / sqrt 2
    found = alone(
        made_run(0, (0.5, 0.6), test_after_rewards={"c": 1.0, "d": 1.0}),
        made_run(1, (0.5, 0.6), test_after_rewards={"c": 0.0, "d": 1.0}),
    )
    assert found.instance_errors["test_gain"] == pytest.approx(0.25)


def test_a_task_without_a_test_split_is_compared_by_validation():
    runs = (runs_of(n, (0, 1), (0.5, g), None) for n, g in (("a", 0.6), ("b", 0.7)))
    found = summed(*runs).strategies[1]
    assert found.measures["test_gain"].mean is None
    assert found.comparisons["test_gain"].p is None
    assert found.comparisons["val_gain"].difference.mean == pytest.approx(0.1)
