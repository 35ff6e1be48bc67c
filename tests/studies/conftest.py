"""A user's folder with a student by rule, and runs made of numbers."""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from dataenvgym.studies.comparison import sum_up
from dataenvgym.studies.results import RunMeasures, SeedResult, StrategyRuns, StudyResults
from dataenvgym.studies.study import run_study
from tests.conftest import shared_pictures

MY_STUDENTS = (Path(__file__).parents[1] / "my_students.py").read_text()
GRID = ("agent=random,skill_list", "seed=0,1")
SMALL = (
    "predictor=custom",
    "predictor._target_=my_students.MyStudent",
    "task.n_validation=20",
    "task.n_test=20",
    "task.n_train=20",
    "agent.records_per_iteration=20",
    "episode.iterations=2",
)


@pytest.fixture(scope="module", autouse=True)
def _pictures(pictures_are_shared):
    """Nothing here is about them."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with `my_students.py` in it."""
    enter(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def small(folder):
    """Overrides of an episode of less than a second, in this process."""
    return (*SMALL, "executor=in_process")


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory):
    """A folder with the finished study `s` of `GRID`, and its results; not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch, shared_pictures():
        enter(folder, patch)
        results = run_study([*GRID, *SMALL, "executor=in_process"], name="s")
    return folder, results


@pytest.fixture
def studied(finished_study, folder):
    """The current folder has the study `s`; its results."""
    source, results = finished_study
    shutil.copytree(source / "studies", folder / "studies")
    return results


def enter(folder: Path, patch: pytest.MonkeyPatch) -> None:
    (folder / "my_students.py").write_text(MY_STUDENTS)
    patch.chdir(folder)
    patch.syspath_prepend(str(folder))
    patch.delitem(sys.modules, "my_students", raising=False)


def made_run(seed: int, scores: tuple[float, ...], test: float | None = 0.5, **more) -> RunMeasures:
    """The measures of a run: validation scores by iteration, and the test score after."""
    best = max(range(len(scores)), key=lambda i: (scores[i], -i))
    before = None if test is None else 0.4
    values = {
        "seed": seed,
        "run": f"run-{seed}",
        "val_scores": scores,
        "best_iteration": best,
        "val_gain": scores[best] - scores[0],
        "test_before": before,
        "test_after": test,
        "test_gain": None if test is None else test - before,
        "area": sum(s - scores[0] for s in scores[1:]) / (len(scores) - 1),
        "records": 100,
        "requests": 0,
        "cost": 0.0,
        "seconds": 10.0,
    }
    numbers = {name: more.pop(name) for name in [*more] if name in SeedResult.model_fields}
    others = {
        "directory": Path(f"run-{seed}"),
        "val_before_rewards": {"a": 0.0, "b": 1.0},
        "val_best_rewards": {"a": 1.0, "b": 1.0},
        "test_before_rewards": {"c": 0.0, "d": 1.0},
        "test_after_rewards": {"c": 1.0, "d": 1.0},
        "identity": {"student": {"weights": "w"}, "instances": "i"},
    }
    return RunMeasures(result=SeedResult(**{**values, **numbers}), **{**others, **more})


def runs_of(name: str, seeds: Iterable[int], *scores, **more) -> StrategyRuns:
    """A strategy whose runs have the same scores; `gold` is the ceiling."""
    runs = {s: made_run(s, *scores, **more) for s in seeds}
    return StrategyRuns(name, "ceiling" if name == "gold" else "strategy", runs)


def results_of(*strategies: StrategyRuns, **options) -> StudyResults:
    """The results of these strategies on a task; the first one is the baseline."""
    values = {"name": "s", "command": "", "baseline": strategies[0].name, "test": None,
              "allow_unequal": (), **options}  # fmt: skip
    return sum_up({"t": strategies}, **values)
