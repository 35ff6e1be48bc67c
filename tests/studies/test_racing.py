"""Races: e-values against integrals, decisions of made numbers, and whole studies."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from benchmarks.racing import TRUTHS, simulate
from dataenvgym.errors import ConfigurationError
from dataenvgym.storage import read_json
from dataenvgym.studies.comparison import compare_runs
from dataenvgym.studies.plan import plan_study
from dataenvgym.studies.racing import (
    SPREAD,
    WARM_UP,
    least_seeds,
    log_e_value,
    reach,
    run_race,
)
from dataenvgym.studies.study import Study, run_study
from dataenvgym.studies.tables import standing_text
from tests.studies.conftest import SMALL, enter


def e_value(differences):
    d = np.array(differences)
    squares = ((d - d.mean()) ** 2).sum()
    return math.exp(log_e_value(d.mean(), squares, len(d) - 1, len(d)))


def test_the_e_value_is_the_ratio_of_likelihoods_integrated_over_their_priors():
    d = np.array([0.9, 0.4, 1.3, 0.7])

    def likelihood(effect):  # integrated over sigma, with the right-Haar prior 1 / sigma
        def at(sigma):
            return np.prod(stats.norm.pdf(d, effect * sigma, sigma)) / sigma

        return integrate.quad(at, 0, 30, limit=200)[0]

    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    effects = nodes * math.sqrt(SPREAD)
    above = weights @ [likelihood(effect) for effect in effects] / weights.sum()
    assert e_value(d) == pytest.approx(above / likelihood(0.0), rel=1e-3)


@pytest.mark.parametrize(("freedom", "n"), [(3, 4), (8, 3), (20, 15)])
def test_the_e_value_is_the_ratio_of_two_t_densities(freedom, n):
    """Gönen et al. (2005): t, and t wider by sqrt(1 + n x the prior's variance)."""
    t = 2.7
    wider = math.sqrt(1 + n * SPREAD)
    expected = stats.t.pdf(t, freedom, scale=wider) / stats.t.pdf(t, freedom)
    found = math.exp(log_e_value(np.float64(t / math.sqrt(n)), np.float64(freedom), freedom, n))
    assert found == pytest.approx(expected)


def test_the_e_value_reaches_a_threshold_exactly_where_said():
    least = reach(200, 9, 5)
    found = math.exp(log_e_value(np.sqrt(np.float64(least) / 5), np.float64(1.0), 9, 5))
    assert found == pytest.approx(200)
    assert math.isinf(reach(20, 2, 3))
    assert [least_seeds(k) for k in (2, 3, 5)] == [4, 3, 3]


def test_equal_scores_are_no_evidence_and_equal_differences_are_finite():
    assert e_value([0.0, 0.0, 0.0]) == pytest.approx(1 / math.sqrt(1 + 3 * SPREAD))
    assert e_value([0.1, 0.1, 0.1]) == pytest.approx(1 + 3 * SPREAD)


def drawn(means, n, seed=0):
    noise = np.random.default_rng(seed).normal(size=(n, len(means)))
    return {name: (m + of).tolist() for (name, m), of in zip(means.items(), noise.T, strict=True)}


def standing(race, name):
    return next(one for one in race.standings if one.strategy == name)


def test_a_clear_loser_stops_and_the_best_is_claimed():
    race = run_race(drawn({"bad": 0.0, "good": 9.0, "fair": 4.0}, 20), 20)
    best, *others = race.standings
    assert (best.strategy, best.state, best.other) == ("good", "best", None)
    assert {one.strategy for one in others} == {"bad", "fair"}
    for one in others:
        assert one.state == "below"
        assert one.seeds < 20
        assert one.e >= 1 / 0.05
        assert one.low < one.difference < one.high < 0
    assert race.share < 0.5


def test_strategies_that_cannot_be_told_apart_stop_undecided_and_none_is_the_best():
    race = run_race(drawn(dict.fromkeys("abc", 0.0), 20), 20)
    assert {one.state for one in race.standings} == {"undecided"}
    assert race.share < 0.6
    assert standing(race, race.standings[0].strategy).seeds < 20


def test_no_strategy_stops_before_all_results_of_a_round_are_known():
    scores = drawn({"bad": 0.0, "good": 9.0}, 6)
    scores["good"] = scores["good"][:2]
    race = run_race(scores, 6)
    assert {(one.state, one.seeds) for one in race.standings} == {("racing", 2)}
    assert run_race({"a": [], "b": []}, 6).standings[0].mean is None


def test_results_after_the_stop_change_nothing():
    scores = drawn({"bad": 0.0, "good": 9.0, "fair": 8.5}, 12)
    race = run_race(scores, 12)
    stop = standing(race, "bad").seeds
    assert stop < 12
    assert run_race({**scores, "bad": scores["bad"][:stop]}, 12) == race
    wild = scores["bad"][:stop] + [1e6] * (12 - stop)
    assert run_race({**scores, "bad": wild}, 12) == race


def test_more_planned_seeds_keep_what_was_decided():
    scores = drawn({"bad": 0.0, "good": 5.0, "fair": 2.5}, 40)
    few, many = run_race(scores, 8), run_race(scores, 40)
    for one in few.standings:
        if one.state == "below":
            assert standing(many, one.strategy).state == "below"
    assert [one.state for one in many.standings] == ["best", "below", "below"]


def test_a_shared_effect_of_seeds_changes_nothing():
    scores = drawn({"a": 0.0, "b": 2.0, "c": 2.5}, 10)
    moved = {name: [v + 7.0 * i for i, v in enumerate(of)] for name, of in scores.items()}
    found, again = (
        [(o.strategy, o.state, o.seeds, round(o.e or 0, 6)) for o in run_race(of, 10).standings]
        for of in (scores, moved)
    )
    assert found == again


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.name)
def test_false_claims_are_rare_for_any_truth(truth):
    """At most .028 in 1,000 studies each (see docs/figures.md), so 300 leave room for chance."""
    row = simulate(truth, 20, 300, np.random.default_rng(1))
    assert row["false claims"] <= 0.05
    assert row["compute"] < 0.55


# --- whole studies ---

POOR = "poor: agent=random agent._target_=my_students.Poor"
"""Writes hardly any new records, so it gains less at every seed."""
RACE = ("agent=random", "seed=range(6)", *SMALL[:-1], "episode.iterations=1", "executor=in_process")
BOUNDLESS = {"name": "r", "strategies": [POOR], "bounds": False}
OPTIONS = {**BOUNDLESS, "race": True}


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A folder with the finished race `r`, and its results; not to be changed."""
    folder = tmp_path_factory.mktemp("raced")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        results = run_study(RACE, **OPTIONS)
    return folder, results


@pytest.fixture
def race(raced, folder):
    """The current folder has the race `r`; its results."""
    shutil.copytree(raced[0] / "studies", folder / "studies")
    return raced[1]


def runs(folder):
    return {p.name for p in (folder / "studies" / "r" / "runs").iterdir()}


def test_a_race_runs_until_the_best_is_known_and_says_what_was_stopped_when(race, folder):
    best, poor = race.race.standings
    assert (best.strategy, best.state) == ("random", "best")
    assert (poor.strategy, poor.state, poor.other) == ("poor", "below", "random")
    assert best.seeds == poor.seeds < 6
    assert len(runs(folder)) == 2 * poor.seeds
    for one in race.tasks[0].strategies:  # no p-values, and no intervals of a fixed number of seeds
        assert one.comparisons == {}
        assert {e.low for e in (*one.measures.values(), *one.curve)} == {None}
    assert race.race.share == poor.seeds / 6
    table = (folder / "studies" / "r" / "study.md").read_text()
    assert f"| poor | {poor.seeds} of 6 | " in table
    assert " | below | random | -" in table
    assert standing_text(poor).startswith(f"stopped after {poor.seeds} seeds: below random, e = ")
    state = read_json(folder / "studies" / "r" / "study.json")
    assert state["race"] is True
    stopped = [(e["strategy"], e["seed"]) for e in state["episodes"] if e["status"] == "stopped"]
    assert stopped == [(n, s) for s in range(poor.seeds, 6) for n in ("random", "poor")]


def test_a_finished_race_runs_nothing_again(race, folder):
    before = runs(folder)
    study = Study(plan_study(RACE, **OPTIONS))
    assert study.unfinished() == study.missing() == []
    assert run_study(RACE, **OPTIONS) == race
    assert runs(folder) == before


def test_an_interrupted_race_decides_as_an_undisturbed_one(race, folder):
    directory = folder / "studies" / "r"
    for name in sorted(runs(folder))[::2]:
        shutil.rmtree(directory / "runs" / name)
    again = run_study(RACE, **OPTIONS)
    assert again.race == race.race
    assert [e["status"] for e in read_json(directory / "study.json")["episodes"]].count(
        "finished"
    ) == len(runs(folder))


def test_more_seeds_continue_a_race_in_the_order_of_its_rounds(race, folder):
    before = runs(folder)
    more = [*RACE, "seed=20,19,5,4,3,2,1,0"]
    del more[1]
    plan = plan_study(more, **OPTIONS)
    assert plan.grid.seeds == (0, 1, 2, 3, 4, 5, 20, 19)
    found = run_study(more, **OPTIONS).race
    assert found.planned == 8
    assert found.standings == race.race.standings  # the best is known
    assert runs(folder) == before


def test_without_race_the_same_study_runs_what_was_stopped(race, folder):
    results = run_study(RACE, **BOUNDLESS)
    assert results.race is None
    assert [len(one.seeds) for one in results.tasks[0].strategies] == [6, 6]
    assert results.tasks[0].strategies[1].comparisons["area"].p is not None
    again = run_study(RACE, **OPTIONS)
    assert again.race == race.race
    assert "finished episodes after the stops are not used" in again.notes[0]
    stopped = race.race.standings[0].seeds
    assert [len(one.seeds) for one in again.tasks[0].strategies] == [stopped, stopped]


def test_a_race_broken_off_as_a_study_has_no_p_values(race, folder):
    study = Study(plan_study(RACE, **BOUNDLESS))  # not run: the stopped episodes are missing
    found = study.finish()
    assert found.race is None
    assert all(one.comparisons == {} for one in found.tasks[0].strategies)
    assert any("these are runs of the race" in warning for warning in found.warnings)


def test_runs_of_a_race_are_compared_without_p_values(race, folder):
    paths = sorted((folder / "studies" / "r" / "runs").iterdir())
    found = compare_runs(paths)
    assert all(one.comparisons == {} for one in found.tasks[0].strategies)
    assert found.tasks[0].strategies[0].measures["area"].low is None
    assert any("these are runs of the race" in warning for warning in found.warnings)
    elsewhere = [Path(shutil.copytree(path, folder / "runs" / path.name)) for path in paths]
    assert compare_runs(elsewhere).tasks[0].strategies[0].measures["area"].low is not None


def test_a_failed_episode_ends_a_race_and_the_same_command_continues_it(folder):
    (folder / "fault").touch()
    faulty = "faulty: agent=random agent._target_=my_students.Faulty"
    options = {**OPTIONS, "strategies": [POOR, faulty]}
    study = Study(plan_study(RACE, **options))
    study.run()
    assert len(runs(folder)) == 3 * WARM_UP
    assert [cell.label for cell, _ in study.missing()] == ["pocket_math: faulty, seed 1"]
    assert {one.state for one in study.finish().race.standings} == {"racing"}
    (folder / "fault").unlink()
    assert "below" in {one.state for one in run_study(RACE, **options).race.standings}


def test_a_race_over_tasks_compares_areas_relative_to_their_first_ceilings(folder):
    tasks = ["agent=random", "seed=range(4)", "task=pocket_math,pocket_code,pocket_social"]
    study = Study(plan_study(tasks, **{**OPTIONS, "bounds": True}))
    whole = {"pocket_math": 0.4, "pocket_code": 0.1, "pocket_social": -0.1}
    areas = {"poor": 0.1, "random": 0.2}
    for cell in study.plan.cells:  # as if they had run
        ceiling = whole[cell.task] * (1 if cell.seed == 0 else 3)
        study._areas[cell.directory] = areas.get(cell.strategy, ceiling)
    race = study.race()
    assert standing(race, "random").mean == pytest.approx((0.2 / 0.4 + 0.2 / 0.1) / 2)
    assert race.left_out == {"pocket_social": "the area of its ceiling at seed 0 is -0.100"}
    assert race.standings[0].state == "best"
    study._areas = dict.fromkeys(study._areas, 0.0)
    with pytest.raises(ConfigurationError, match="ceilings"):
        study.race()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategies": []}, "--race has 1 strategies and 6 seeds, expected two strategies"),
        ({"test": "t"}, "--race has a test of its own"),
    ],
)
def test_options_that_do_not_fit_a_race_are_refused(folder, changes, message):
    with pytest.raises(ConfigurationError, match=message):
        plan_study(RACE, **{**OPTIONS, **changes})


def test_too_few_seeds_for_any_decision_are_refused(folder):
    few = [*RACE[:1], "seed=range(3)", *RACE[2:]]
    with pytest.raises(ConfigurationError, match="3 seeds"):
        plan_study(few, **OPTIONS)


def test_a_race_keeps_the_strategies_that_it_began_with(race, folder):
    with pytest.raises(ConfigurationError, match="began with"):
        plan_study(["agent=random,edge", *RACE[1:]], **OPTIONS)
