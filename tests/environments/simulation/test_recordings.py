"""Run directories, recorded here with a simulated student, read back."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from dataenvgym.agents import Agent, PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import SkillList
from dataenvgym.environments.simulation import SimulatedPredictor
from dataenvgym.environments.simulation.__main__ import main
from dataenvgym.environments.simulation.curves import read_curves
from dataenvgym.environments.simulation.recordings import read_trajectories, read_trajectory
from dataenvgym.errors import RunDirectoryError
from dataenvgym.runs.episodes import run_episode


def run(directory: Path, *, seed: int = 0, n_validation: int = 40, **options: object) -> Path:
    task = PocketMathTask(n_validation=n_validation, n_test=20, n_train=20)
    student = SimulatedPredictor(task)
    given = {"name": "random", "records_per_iteration": 40, "seed": seed}
    agent = Agent(RandomPolicy(), PocketEngine(task), **given)
    environment = SkillList(task, student, directory=directory, **options)
    run_episode(environment, agent, iterations=2, seed=seed)
    return directory


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [run(folder / f"run{seed}", seed=seed) for seed in range(3)]


def test_a_run_is_read_as_records_by_skill_and_accuracies(runs):
    trajectory = read_trajectory(runs[0])
    assert trajectory.name == "run0"
    assert len(trajectory.skills) == 20
    assert trajectory.counts.shape == (2, 20)
    assert trajectory.accuracies.shape == (3, 20)
    assert 36 <= trajectory.counts[0].sum() <= 40  # duplicates are dropped
    assert trajectory.replay == 100
    assert (trajectory.trained[0] == trajectory.counts[0]).all()
    # all records of the first iteration are repeated in the second: they are fewer than 100
    assert trajectory.trained[1] == pytest.approx(trajectory.counts.sum(0))
    # 2 instances of each skill: right, half or wrong
    assert set(np.unique(trajectory.accuracies)) <= {0.0, 0.5, 1.0}


def test_runs_on_other_instances_are_refused(runs, tmp_path):
    other = run(tmp_path / "other", n_validation=60)
    with pytest.raises(RunDirectoryError, match="on different"):
        read_trajectories([*runs, other])


def test_runs_from_the_base_each_time_and_folders_without_iterations_are_refused(tmp_path):
    with pytest.raises(RunDirectoryError, match="accumulate"):
        read_trajectory(run(tmp_path / "run", mode="accumulate"))
    with pytest.raises(RunDirectoryError, match="no finished iteration"):
        read_trajectory(tmp_path)


def test_records_of_unknown_skills_are_refused(runs, tmp_path):
    copy = shutil.copytree(runs[0], tmp_path / "copy")
    file = copy / "iterations" / "001" / "records.jsonl"
    lines = file.read_text().replace('"skill":"', '"skill":"un')
    file.write_text(lines)
    with pytest.raises(RunDirectoryError, match="report's"):
        read_trajectory(copy)


def test_the_command_prints_a_table_and_writes_curves(runs, tmp_path, capsys):
    output = tmp_path / "curves.json"
    assert main([*map(str, runs), "--output", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "fitted on 2 runs, tested on 1 others" in printed
    for row in ("learning curves", "no change", "mean of the skill"):
        assert row in printed
    assert read_curves(output).n_runs == 3
    assert main([str(runs[0])]) == 1
    assert "expected 2 or more" in capsys.readouterr().err
