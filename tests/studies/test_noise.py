"""Noise models: fitted, kept, and used to plan a study."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.documents import Table, markdown
from dataenvgym.studies.budget import budget_notes, budget_warnings, plan_report
from dataenvgym.studies.noise import (
    SHIPPED,
    NoiseModel,
    Variances,
    conditions,
    read_noise,
    spread_of_seeds,
    write_noise,
)
from dataenvgym.studies.plan import plan_study
from dataenvgym.studies.results import fit_noise
from dataenvgym.studies.statistics import detectable_effect
from dataenvgym.studies.study import Study
from tests.studies.conftest import SMALL, made_run

UNDER = {"student": "s", "iterations": 2, "records": 40}
TASK = "pocket_math"


@pytest.fixture
def noise():
    def make(seed=0.0004, residual=0.16, **changes):
        one = Variances(seed=seed, problem=0.01, residual=residual, problems=400,
                        seed_correlation=0.5, problem_correlation=0.9)  # fmt: skip
        values = {
            "task": TASK,
            "conditions": UNDER,
            "strategies": ("random", "edge"),
            "seeds": 5,
            "variances": {"test_gain": one, "area": one},
            "seconds": {"random": 60.0},
        }
        return NoiseModel(**{**values, **changes})  # fmt: skip

    return make


@pytest.fixture(autouse=True)
def nothing_shipped(monkeypatch, tmp_path):
    monkeypatch.setattr("dataenvgym.studies.noise.SHIPPED", tmp_path / "shipped")


def simulated(n, *, seed, problem, residual, n_problems=60):
    """Runs of two strategies whose paired difference has these standard deviations."""
    rng = np.random.default_rng(0)
    b = rng.normal(0, problem, n_problems)
    runs = {"base": {}, "other": {}}
    for s in range(n):
        before = dict.fromkeys(map(str, range(n_problems)), 0.0)
        d = rng.normal(0, seed) + b + rng.normal(0, residual, n_problems)
        for name, values in (("base", np.zeros(n_problems)), ("other", d)):
            after = dict(zip(before, values.tolist(), strict=True))
            runs[name][s] = made_run(s, (0.5, 0.6), test_before_rewards=before,
                                     test_after_rewards=after)  # fmt: skip
    return runs


def test_the_fit_finds_the_variances_that_runs_were_made_with():
    runs = simulated(200, seed=0.05, problem=0.2, residual=0.4)
    found = fit_noise("t", runs, config=compose([]), seconds={"base": 1.0})
    test = found.variances["test_gain"]
    assert test.seed**0.5 == pytest.approx(0.05, rel=0.25)
    assert test.problem**0.5 == pytest.approx(0.2, rel=0.25)
    assert test.residual**0.5 == pytest.approx(0.4, rel=0.05)
    assert test.gain_seed == pytest.approx(test.seed / 2, rel=0.01)  # one of the two has no noise
    assert test.sd(60) == pytest.approx((0.05**2 + 0.4**2 / 60) ** 0.5, rel=0.15)
    assert "area" not in found.variances  # these runs have no files


def test_too_few_seeds_or_strategies_are_refused():
    runs = simulated(2, seed=0.1, problem=0.1, residual=0.1)
    with pytest.raises(ConfigurationError, match="common"):
        fit_noise("t", runs, config=compose([]), seconds={})
    with pytest.raises(ConfigurationError, match="1 strategies"):
        fit_noise("t", {"base": runs["base"]}, config=compose([]), seconds={})


def test_a_model_is_read_as_it_was_written_under_any_name_of_a_task(noise, tmp_path):
    model = noise(task="teach/traps, n_test=5")
    assert write_noise(model, tmp_path).parent == tmp_path
    assert read_noise(model.task, tmp_path) == model
    assert read_noise("another", tmp_path) is None


def test_a_damaged_model_is_named_with_its_file(noise, tmp_path):
    path = write_noise(noise(seeds=9), tmp_path)
    path.write_text(path.read_text().replace('"seeds": 9', '"seeds": "many"'))
    with pytest.raises(RunDirectoryError, match="fit-noise"):
        read_noise(TASK, tmp_path)


def test_a_users_model_comes_before_the_packages(noise, tmp_path):
    write_noise(noise(seeds=9), tmp_path / "shipped")
    assert read_noise(TASK, tmp_path).seeds == 9
    write_noise(noise(seeds=4), tmp_path)
    assert read_noise(TASK, tmp_path).seeds == 4


@cache
def planned(*overrides, **options):
    """The plan with one seed: each more would be a copy of all configurations."""
    overrides = ["agent=random,skill_list,edge", "seed=0", *SMALL, *overrides]
    return plan_study(overrides, workers=2, **options)


def plan(folder, *overrides, seeds=10, bounds=False, looking_for=None):
    one = planned(*overrides, bounds=bounds)
    grid = replace(one.grid, seeds=tuple(range(seeds)))
    return replace(one, grid=grid, noise_dir=Path(folder), looking_for=looking_for)


def test_the_plan_shows_differences_by_seeds_and_problems_and_the_time(noise, folder):
    write_noise(noise(), "noise")
    table, *notes = plan_report(plan("noise"))
    assert table.names[1:] == ("test gain, 20 problems", "test gain, 80 problems",
                               "area, 20 problems", "area, 80 problems", "time")  # fmt: skip
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["5", "10 (this study)", "20", "40"]
    assert rows["5"][0] == "none"  # 2 / 2^5 > .05
    # 1.14 standard deviations with 10 seeds at .025; sd = sqrt(.0004 + .16 / 20) = .0917
    assert float(rows["10 (this study)"][0]) == pytest.approx(1.14 * 0.0917, rel=0.05)
    assert rows["10 (this study)"][-1] == "15 min"  # 3 strategies x 10 seeds x 60 s / 2 workers
    assert "exact sign-flip test, Holm for 2 comparisons" in notes[0].text
    assert "0.6 to 2.9 times as large" in notes[0].text  # 4 degrees of freedom
    assert "records 40 there" not in markdown(notes)
    assert "the noise may differ: student s there and " in notes[1].text


def test_the_floor_takes_one_iteration_in_any_study(noise, folder):
    seconds = {**dict.fromkeys(("random", "skill_list", "edge", "gold"), 60.0), "none": 3000.0}
    write_noise(noise(seconds=seconds, conditions={**UNDER, "iterations": 5}), "noise")
    table, *_ = plan_report(plan("noise", bounds=True))
    assert table.rows[1][-1] == "35 min"  # (4 x 10 seeds x 60 s x 3 / 6 + 3000 s) / 2 workers


def test_a_study_that_cannot_find_what_it_looks_for_says_so_and_what_it_needs(noise, folder):
    write_noise(noise(), "noise")
    (warning,) = budget_warnings(plan("noise", looking_for=0.05))
    assert warning.startswith(
        "pocket_math: a difference of 0.05 in test gain cannot be shown with this budget: "
        "10 seeds and 20 problems find 0.10"
    )
    n = int(warning.rpartition("it needs ")[2].split()[0])
    assert budget_warnings(plan("noise", seeds=n, looking_for=0.05)) == []
    (none,) = budget_warnings(plan("noise", seeds=3, looking_for=0.001))
    assert "find no difference with 80% power; it needs more than 100 seeds" in none
    (unknown,) = budget_warnings(plan("elsewhere", looking_for=0.05))
    assert "it is not known whether this budget can show it" in unknown


def test_a_difference_that_is_not_positive_is_refused(folder):
    with pytest.raises(ConfigurationError, match=r"--looking-for is -0\.1"):
        plan_study(SMALL, bounds=False, looking_for=-0.1)


def test_a_shipped_model_is_found_and_has_the_setting_of_the_suite(tmp_path, monkeypatch):
    monkeypatch.setattr("dataenvgym.studies.noise.SHIPPED", SHIPPED)
    config = compose(["episode.iterations=3", "agent.records_per_iteration=100"])
    for path in SHIPPED.glob("*.json"):
        model = read_noise(path.stem, tmp_path)
        assert set(model.variances) == {"test_gain", "area"}
        assert None not in [one.gain_seed for one in model.variances.values()]
        assert model.ceiling > 0
        assert model.seeds >= 5
    assert read_noise("pocket_math", tmp_path).differs(config) == ""


def test_a_model_says_that_its_task_had_another_pressure(noise):
    one, two = (
        compose(["task=pocket_math", "task.pressure=" + given])
        for given in ("null", "{traps: {share: 0.4}}")
    )
    model = noise(conditions=conditions(one))
    assert model.differs(one) == ""
    assert model.differs(two) == "pressure none there and {'traps': {'share': 0.4}} here"
    assert noise(conditions=conditions(two)).differs(one).endswith("and none here")


def test_a_pressure_may_evaluate_fewer_problems_than_the_task_asks_for():
    one = Variances(seed=0.0, problem=0.0, residual=1.0, problems=320, asked=800,
                    seed_correlation=None, problem_correlation=None)  # fmt: skip
    assert one.problems_of(compose(["task=teach/skewed", "task.n_validation=800"]), "area") == 320
    assert one.problems_of(compose(["task=teach/skewed", "task.n_validation=400"]), "area") == 160


# --- suites ---

TASKS = ("pocket_math", "pocket_code")


def suite_plan(**options):
    return plan("noise", f"task={','.join(TASKS)}", bounds=True, **options)


@pytest.fixture
def suite_noise(noise, folder):
    for task in TASKS:
        write_noise(noise(task=task, ceiling=0.2, seed=0.0004, residual=0.0), "noise")


def test_the_plan_of_a_suite_has_the_difference_in_its_score(suite_noise):
    *_, table = (part for part in plan_report(suite_plan()) if isinstance(part, Table))
    assert table.title.startswith(
        "suite: smallest difference found with 80% power, Holm for 3 pair"
    )
    found = {row[0]: row[1] for row in table.rows}["10 (this study)"]
    # .02 / .2 on each task, / sqrt 2 for the mean of two; 1.2 deviations at .05 / 3
    effect = detectable_effect(10, comparisons=3, test="sign_flip")
    assert float(found) == pytest.approx(effect * 0.1 / 2**0.5, abs=0.001)


def test_what_a_suite_looks_for_is_a_difference_in_its_score(suite_noise, noise):
    assert budget_warnings(suite_plan(looking_for=0.2)) == []
    (warning,) = budget_warnings(suite_plan(looking_for=0.05))
    assert warning.startswith(
        "suite: a difference of 0.05 in its score cannot be shown with this budget: 10 seeds find "
    )
    assert budget_warnings(suite_plan(looking_for=0.05, seeds=60)) == []
    write_noise(noise(task="pocket_code"), "noise")  # of a study without bounds
    (unknown,) = budget_warnings(suite_plan(looking_for=0.2))
    assert "it is not known whether" in unknown
    assert "no noise model with a ceiling of pocket_code in noise; the same command" in unknown


def test_a_study_that_looks_for_nothing_notes_what_it_can_find(suite_noise):
    (note,) = budget_notes(suite_plan())
    assert "10 seeds" in note
    assert "suite" in note
    (note,) = budget_notes(plan("noise", "task=pocket_code"))
    assert "pocket_code" in note
    assert budget_notes(suite_plan(looking_for=0.2)) == []
    assert budget_notes(plan("elsewhere", "task=pocket_code")) == []


@pytest.mark.slow
def test_a_finished_study_fits_the_noise_of_its_runs(small, folder):
    study = Study(
        plan_study(["agent=random,skill_list", "seed=0,1,2", *small], bounds=False, looking_for=9.0)
    )
    study.check()
    study.run()
    results = study.finish()
    assert "there is no noise model" in results.warnings[0]
    (path,) = study.fit_noise()
    model = read_noise(TASK, path.parent)
    assert (model.strategies, model.seeds) == (("random", "skill_list"), 3)
    assert model.conditions["iterations"] == 2
    assert set(model.seconds) == {"random", "skill_list"}
    for measure in ("test_gain", "area"):
        of = results.tasks[0].strategies[1].comparisons[measure]
        assert of.difference.sd <= model.variances[measure].sd(20) + 1e-9
        assert model.variances[measure].asked == 20
    run = study.plan.cells[0].directory
    variance, about = spread_of_seeds(run, path.parent)
    assert variance == model.variances["test_gain"].gain_seed
    assert about == "with the spread of seeds, by a noise model"
    write_noise(model.model_copy(update={"conditions": {"iterations": 9}}), path.parent)
    assert "of another setting: student none there" in spread_of_seeds(run, path.parent)[1]
    path.write_text("{}")
    variance, about = spread_of_seeds(run, path.parent)
    assert variance is None
    assert "pocket_math.json is damaged" in about
