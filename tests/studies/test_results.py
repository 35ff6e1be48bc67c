"""Runs summed up."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.studies.comparison import TaskRuns, sum_up
from dataenvgym.studies.results import MissingRun, StrategyRuns, task_result


def strategies(made_run):
    base = {s: made_run(s, (0.5, 0.55), 0.5) for s in (0, 1, 2, 3)}
    good = {s: made_run(s, (0.5, 0.6), 0.6 + 0.01 * s) for s in (0, 1, 2)}
    bad = {s: made_run(s, (0.5, 0.4), 0.4) for s in (1, 2, 3)}
    return [
        StrategyRuns("base", "strategy", base),
        StrategyRuns("good", "strategy", good, [MissingRun(seed=3, reason="lost")]),
        StrategyRuns("bad", "strategy", bad, [MissingRun(seed=0, reason="lost")]),
        StrategyRuns("gold", "ceiling", {0: made_run(0, (0.5, 0.9), 0.9)}),
    ]


def test_pairs_are_compared_on_the_seeds_that_both_have(made_run):
    found = task_result("t", strategies(made_run), baseline="base", test="sign_flip")
    base, good, bad, gold = found.strategies
    assert base.comparisons == gold.comparisons == {}
    assert good.comparisons["test_gain"].seeds == (0, 1, 2)
    assert bad.comparisons["test_gain"].seeds == (1, 2, 3)
    assert good.comparisons["test_gain"].difference.mean == pytest.approx(0.11)
    assert bad.comparisons["test_gain"].difference.mean == pytest.approx(-0.1)
    assert [m.seed for m in good.missing] == [3]


def test_ps_are_adjusted_for_the_strategies_compared_and_not_for_the_ceiling(made_run):
    _, good, bad, _ = task_result(
        "t", strategies(made_run), baseline="base", test="sign_flip"
    ).strategies
    assert good.comparisons["test_gain"].p == 0.25
    assert good.comparisons["test_gain"].p_holm == bad.comparisons["test_gain"].p_holm == 0.5
    t = task_result("t", strategies(made_run), baseline="base", test="t").strategies[1]
    assert t.comparisons["test_gain"].p == t.comparisons["test_gain"].p_t < 0.01


def test_a_strategys_gain_is_that_of_the_iteration_that_validation_chose(made_run):
    run = made_run(0, (0.5, 0.8, 0.6), 0.7)
    found = task_result(
        "t", [StrategyRuns("a", "strategy", {0: run})], baseline="a", test="t"
    ).strategies[0]
    assert found.measures["val_gain"].mean == pytest.approx(0.3)
    assert found.measures["area"].mean == pytest.approx((0.3 + 0.1) / 2)
    assert found.measures["test_gain"].mean == pytest.approx(0.3)
    assert found.seeds[0].best_iteration == 1
    assert [point.mean for point in found.curve] == [0.5, 0.8, 0.6]


def test_the_base_student_is_the_floor_and_says_whether_it_varies(made_run):
    runs = strategies(made_run)
    floor = task_result("t", runs, baseline="base", test="t", floor_runs=[made_run(0, (0.5, 0.5))])
    assert floor.floor.deterministic
    assert (floor.floor.val_score, floor.floor.test_score, floor.floor.n_runs) == (0.5, 0.4, 12)
    other = [*runs, StrategyRuns("x", "strategy", {0: made_run(0, (0.7, 0.8))})]
    found = task_result("t", other, baseline="base", test="t").floor
    assert not found.deterministic
    assert found.val_score == pytest.approx((11 * 0.5 + 0.7) / 12)


def test_an_unpriced_teacher_has_no_cost_and_not_a_cost_of_zero(made_run):
    runs = {0: made_run(0, (0.5, 0.6), cost=0.5), 1: made_run(1, (0.5, 0.6), cost=None)}
    found = task_result("t", [StrategyRuns("a", "strategy", runs)], baseline="a", test="t")
    assert found.strategies[0].measures["cost"].mean is None
    free = {0: made_run(0, (0.5, 0.6))}
    found = task_result("t", [StrategyRuns("a", "strategy", free)], baseline="a", test="t")
    assert found.strategies[0].measures["cost"].mean == 0.0


def test_the_instances_error_averages_over_seeds_first(made_run):
    # instance c gains 1 and 0 in two seeds, d gains 0 and 0: means .5 and 0, sd .3536, / sqrt 2
    runs = {
        0: made_run(0, (0.5, 0.6), test_after_rewards={"c": 1.0, "d": 1.0}),
        1: made_run(1, (0.5, 0.6), test_after_rewards={"c": 0.0, "d": 1.0}),
    }
    found = task_result("t", [StrategyRuns("a", "strategy", runs)], baseline="a", test="t")
    assert found.strategies[0].instance_errors["test_gain"] == pytest.approx(0.25)


def test_a_task_without_a_test_split_is_compared_by_validation(made_run):
    runs = [
        StrategyRuns(n, "strategy", {s: made_run(s, (0.5, g), None) for s in (0, 1)})
        for n, g in (("a", 0.6), ("b", 0.7))
    ]
    found = task_result("t", runs, baseline="a", test="t").strategies[1]
    assert found.measures["test_gain"].mean is None
    assert found.comparisons["test_gain"].p is None
    assert found.comparisons["val_gain"].difference.mean == pytest.approx(0.1)


def test_runs_of_another_student_are_not_summed_up_unless_it_is_allowed(made_run):
    other = made_run(0, (0.5, 0.6), identity={"student": {"weights": "v"}, "instances": "i"})
    task = TaskRuns(
        "t",
        [
            StrategyRuns("a", "strategy", {0: made_run(0, (0.5, 0.6))}),
            StrategyRuns("b", "strategy", {0: other}),
        ],
    )
    options = {"name": "s", "command": "", "baseline": "a", "test": None}
    with pytest.raises(ConfigurationError, match="differ in\n  student"):
        sum_up([task], allow_unequal=[], **options)
    results = sum_up([task], allow_unequal=["student"], **options)
    assert results.test == "sign_flip"
    assert results.unequal[0].startswith("student: ")
