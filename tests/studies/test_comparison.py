"""Runs that are there already, compared."""

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs.episodes import run_episode
from dataenvgym.storage import read_json, write_json
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.studies.comparison import compare_runs
from dataenvgym.studies.study import run_study


@pytest.fixture
def runs(studied, folder):
    """The runs of a finished study."""
    return sorted((folder / "studies" / "s" / "runs").iterdir())


def test_the_runs_of_a_study_come_to_the_studys_numbers(studied, runs):
    results = studied
    found = compare_runs(runs)
    assert found.tasks[0].floor == results.tasks[0].floor
    by_name = {one.name: one for one in found.tasks[0].strategies}
    for one in results.tasks[0].strategies:
        assert by_name[one.name] == one
    assert found.baseline == "random"


@pytest.mark.slow
def test_runs_that_differ_by_more_than_their_seed_are_strategies_of_their_own(small, folder):
    run_study(["agent=random", "environment.replay=0,9", *small], name="s", bounds=False)
    found = compare_runs(sorted((folder / "studies" / "s" / "runs").iterdir()))
    assert sorted(one.name for one in found.tasks[0].strategies) == [
        "random, replay=0", "random, replay=9",
    ]  # fmt: skip
    assert all(len(one.seeds) == 1 for one in found.tasks[0].strategies)


def test_a_seed_that_only_one_of_them_has_is_named(runs):
    some = [r for r in runs if "none" not in r.name and "gold" not in r.name][:3]
    found = compare_runs(some)
    assert [[*one.missing] for one in found.tasks[0].strategies] == [[], [1]]


def test_runs_that_cannot_be_compared_are_named(runs, folder):
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        compare_runs([])
    with pytest.raises(ConfigurationError, match="bounds"):
        compare_runs([r for r in runs if "none" in r.name])
    with pytest.raises(ConfigurationError, match="strategy and"):
        compare_runs([runs[0], runs[0]])
    with pytest.raises(ConfigurationError, match="mean 'random'"):
        compare_runs(runs, baseline="rnadom")
    with pytest.raises(RunDirectoryError, match="not the folder"):
        compare_runs([folder])


def test_runs_on_other_instances_are_refused(runs, small, folder):
    other = [*small[:3], "task.n_test=19", *small[4:]]
    run_study(["agent=skill_list", *other], name="o", bounds=False)
    (strange,) = (folder / "studies" / "o" / "runs").iterdir()
    some = [r for r in runs if "random" in r.name]
    with pytest.raises(ConfigurationError, match="n_test"):
        compare_runs([*some, strange])
    assert compare_runs([*some, strange], allow_unequal=["task"]).unequal


def test_a_ceiling_that_trained_on_nothing_is_refused(runs):
    (gold, *_) = [r for r in runs if "gold" in r.name]
    summary = read_json(gold / "summary.json")
    summary["iterations"][-1]["n_records_total"] = 0
    write_json(gold / "summary.json", summary)
    with pytest.raises(ConfigurationError, match="ceiling that"):
        compare_runs(runs)


def test_runs_made_in_python_under_another_pressure_are_refused(tmp_path):
    for name, pressure in (("plain", None), ("trapped", "traps")):

        class Agent:
            def __call__(self, completed, predictor, name=name):
                return [{"instruction": f"Say {name}", "output": "1"}]

            def step(self):
                pass

        task = PocketMathTask(n_validation=20, n_test=10, pressure=pressure)
        student = ScriptedPredictor(lambda conversation: "#### 1")
        environment = SkillList(task, student, directory=tmp_path / name)
        run_episode(environment, Agent(), iterations=1, progress=False)
    with pytest.raises(ConfigurationError, match=r"pressure\.class: None"):
        compare_runs([tmp_path / "plain", tmp_path / "trapped"])
