"""Evaluations in which the student plays against itself."""

import shutil

import pytest

from dataenvgym.cli.main import main
from dataenvgym.errors import ConfigurationError, RunDirectoryError
from dataenvgym.runs.evaluation import rescore_evaluation, run_evaluation

PLAY = ("task=social", "task.partner=model", "+speaker@task.others.partner=student")
ADAPTER = "task.others.partner.adapter"


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    """The folder of runs with one of two iterations, of a student that is not a network."""
    runs = tmp_path_factory.mktemp("runs")
    sizes = [f"task.n_{split}=6" for split in ("train", "validation", "test")]
    options = ["student=simulated", *sizes, "episode.iterations=2", "name=r", f"runs_dir={runs}"]
    assert not main(["run", *options])
    return runs


@pytest.fixture
def run(finished_run, tmp_path, monkeypatch):
    """Its iterations."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_run, "runs")
    return tmp_path / "runs" / "r" / "iterations"


def played(adapter, *, number=None, folder=None, overrides=(), **options):
    evaluation = run_evaluation(
        [*PLAY, f"{ADAPTER}={adapter}", *overrides],
        run=None if number is None else "r",
        iteration=number,
        adapter=folder,
        limit=2,
        **options,
    )
    assert [c.error for c in evaluation.completed()] == [None] * 2
    return evaluation


@pytest.mark.slow
def test_the_former_student_is_part_of_the_identity_of_an_evaluation(run):
    folders = {played("former", number=n).directory for n in (0, 1, 2)}
    assert len(folders) == 3
    again = played("former", number=2)
    assert again.was_finished
    assert again.directory in folders
    current = played("current", number=2)
    assert current.directory not in folders


def test_without_a_run_the_former_student_is_unknown(run):
    student = "student=simulated"
    with pytest.raises(ConfigurationError, match="known what"):
        played("former", folder=run / "002" / "adapter", overrides=[student])
    played("current", folder=run / "002" / "adapter", overrides=[student])
    played(run / "001" / "adapter", folder=run / "002" / "adapter", overrides=[student])


def test_a_saved_adapter_that_has_changed_is_another_partner(run):
    options = {"overrides": ["name=e"], "number": 2}
    saved = run / "001" / "adapter"
    played(saved, **options)
    (saved / "simulated.json").write_text((run / "002/adapter/simulated.json").read_text())
    with pytest.raises(RunDirectoryError, match="others"):
        played(saved, **options)


def test_samples_of_self_play_are_not_judged_again_by_replaying_half_of_it(run):
    directory = played("current", number=1).directory
    with pytest.raises(ConfigurationError, match="student itself"):
        rescore_evaluation(directory.name, [])
