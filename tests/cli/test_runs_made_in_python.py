"""Runs made with `run_episode` are runs: every command that takes a run takes them."""

import importlib
import shutil

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import OpenEnded
from dataenvgym.runs.episodes import run_episode


class Writer:
    """Writes `size` records of one kind."""

    def __init__(self, name: str, size: int = 20):
        self.name, self.size, self.calls = name, size, 0

    def __call__(self, completed, predictor):
        self.calls += 1
        return [
            {"instruction": f"Say {self.name} {self.calls * 100 + i}", "output": f"{i}"}
            for i in range(self.size)
        ]

    def step(self):
        pass


@pytest.fixture
def teach(folder, monkeypatch):
    """Runs an episode in Python, in `runs/<name>`."""
    monkeypatch.syspath_prepend(folder)
    my_students = importlib.import_module("my_students")

    def run(name, *, seed=0, **options):
        environment = OpenEnded(PocketMathTask(n_validation=20, n_test=20), my_students.MyStudent())
        agent = Writer(options.pop("agent", name))
        directory = f"runs/{name}"
        return run_episode(
            environment, agent, iterations=2, seed=seed, directory=directory, **options
        )

    return run


@pytest.fixture
def pupil(small):
    """The overrides for the same task and student on the command line."""
    return small[:4]


def test_report_show_and_export_take_it(dataenvgym, teach, folder):
    teach("mine")
    report = dataenvgym.succeeds("report", "mine")
    assert "pocket_math, taught by mine, seed 0" in report.out
    assert (folder / "runs" / "mine" / "report.md").exists()
    assert (folder / "runs" / "mine" / "curve.png").exists()
    assert "20 records accepted" in dataenvgym("show", "mine").out
    pytest.importorskip("pyarrow", reason="needs the extra [datasets]")
    assert dataenvgym("export", "mine", "--output", "out").code == 0
    adapter = ("export", "mine", "--adapter", "--iteration", "1", "--output", "adapter")
    assert dataenvgym(*adapter).code == 0
    assert "Did you mean 'mine'?" in dataenvgym("report", "mien").err


def test_compare_takes_several_runs_also_together_with_one_of_the_command_line(
    dataenvgym, teach, small
):
    for seed in (0, 1):
        teach(f"one-{seed}", agent="one", seed=seed)
        teach(f"two-{seed}", agent="two", seed=seed)
    result = dataenvgym.succeeds(
        "compare", *(f"{name}-{seed}" for name in ("one", "two") for seed in (0, 1))
    )
    assert {"one", "two"} <= set(result.out.split())
    assert dataenvgym("run", *small, "agent=open_ended", "name=composed").code == 0
    mixed = dataenvgym.succeeds("compare", "one-0", "composed")
    assert {"one", "open_ended"} <= set(mixed.out.split())


def test_its_student_is_evaluated_on_the_task_that_it_was_taught(dataenvgym, teach, pupil):
    summary = teach("mine")
    result = dataenvgym.succeeds("eval", "--run", "mine", *pupil)
    assert f"{summary.best.val_score:.3f}" in result.out
    assert f"iteration {summary.best_iteration} of mine" in result.out


def test_another_task_or_student_than_its_own_is_refused_with_the_way_out(dataenvgym, teach, pupil):
    teach("mine")
    unnamed = "names its task, and it is not 'pocket_math' as composed here: name it"
    dataenvgym.refuses(unnamed, "eval", "--run", "mine", *pupil[:2])
    dataenvgym.refuses("names its predictor", "eval", "--run", "mine", *pupil[2:])


def test_a_run_of_the_command_line_does_not_take_its_folder(dataenvgym, teach, small, folder):
    teach("mine")
    before = sorted(p.name for p in (folder / "runs" / "mine").iterdir())
    for words in ((), ("--fresh",)):
        dataenvgym.refuses("is a run made in Python", "run", *small, "name=mine", *words)
    assert sorted(p.name for p in (folder / "runs" / "mine").iterdir()) == before
    shutil.rmtree(folder / "runs" / "mine" / "iterations")
    assert "is not the folder of a run" in dataenvgym("report", "mine").err
