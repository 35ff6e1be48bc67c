"""Pressures in episodes: a resumed one and a trial see what an undisturbed step sees."""

import re
import shutil
from functools import cache

import pytest

from dataenvgym.agents import PocketEngine, RandomPolicy
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import IterationFiles, OpenEnded, SkillList
from dataenvgym.errors import RunDirectoryError
from dataenvgym.records.plans import Situation
from dataenvgym.seeding import derive_rng
from dataenvgym.tasks.pressures import PRESSURES, Pressure
from tests.environments.conftest import ImprovingStudent


class NotingStudent(ImprovingStudent):
    """Keeps what it was trained on last."""

    def train(self, training_data, run):
        self.last = list(training_data)
        super().train(training_data, run)


def task_under(pressure):
    return PocketMathTask(n_train=40, n_validation=100, n_test=20, pressure=pressure)


def environment_under(pressure, directory, kind=SkillList, **options):
    task = task_under(pressure)
    return kind(task, NotingStudent(task), directory=directory, **options)


@cache
def lesson(iteration):
    """200 records over 20 skills."""
    rng, engine = derive_rng(iteration, "lesson"), PocketEngine(task_under(None))
    plan = RandomPolicy().plan(Situation((), engine.skills, None), 200, rng)
    return engine.generate(plan, None, rng)


def taught(environment, *iterations):
    """The observations of the iterations, and what the student was trained on."""
    found = []
    for iteration in iterations:
        observation, reward, *_ = environment.step(lesson(iteration))
        found.append((observation, reward, environment.predictor.last))
    return found


@pytest.mark.parametrize(
    ("pressure", "mode"),
    [
        pytest.param(pressure, mode, marks=[] if (n + m) % 2 == 0 else [pytest.mark.slow])
        for n, pressure in enumerate(PRESSURES)
        for m, mode in enumerate(["incremental", "accumulate"])
    ],
)
def test_a_resumed_episode_sees_the_same_as_an_undisturbed_one(pressure, mode, tmp_path):
    environment = environment_under(pressure, tmp_path / "one", mode=mode)
    environment.reset(seed=1)
    _, (before, *_) = taught(environment, 1, 2)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    undisturbed = taught(environment, 3)
    environment = environment_under(pressure, tmp_path / "two", mode=mode)
    observation, _ = environment.reset(seed=1, options={"resume": True})
    assert observation == before
    assert taught(environment, 3) == undisturbed


class Own(Pressure):
    """Has an option that JSON does not have."""

    pattern: re.Pattern


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (None, "traps"),
        ("traps", None),
        ("traps", "plateau"),
        ({"traps": {"skills": ["sum"]}}, {"traps": {"skills": ["total"]}}),
        (Own(pattern=re.compile("a")), "traps"),
    ],
)
def test_an_episode_is_not_continued_under_another_pressure(before, now, tmp_path):
    environment_under(before, tmp_path).reset(seed=1)
    environment_under(before, tmp_path).reset(seed=1, options={"resume": True})
    with pytest.raises(RunDirectoryError, match="was begun"):
        environment_under(now, tmp_path).reset(seed=1, options={"resume": True})


@pytest.mark.parametrize("pressure", PRESSURES)
def test_a_trial_trains_on_the_same_records_and_reports_the_same_as_the_step(pressure, tmp_path):
    environment = environment_under(pressure, tmp_path)
    environment.reset(seed=1)
    environment.step(lesson(1))
    records = lesson(2)
    report = environment.trial(records)
    tried = environment.predictor.last
    observation, *_ = environment.step(records)
    assert environment.predictor.last == tried
    assert observation["report"] == report


def records_of(directory, iteration):
    return IterationFiles(directory / "iterations", iteration).read_records()


@pytest.mark.parametrize("pressure", ["prerequisites", "interference", "plateau"])
def test_what_was_taught_before_decides_over_the_same_records(pressure, tmp_path):
    answers = []
    for first in (1, 2):  # iterations before the one that is compared
        environment = environment_under(pressure, tmp_path / str(first))
        environment.reset(seed=1)
        for iteration in range(1, first + 1):
            environment.step(lesson(iteration))
        environment.step(lesson(9))
        taught_last = records_of(tmp_path / str(first), first + 1)
        answers.append([(r.prompt, r.output) for r in taught_last])
    assert answers[0] != answers[1]


@pytest.mark.parametrize("kind", [OpenEnded, SkillList])
def test_under_a_drift_scores_compare_all_problems_and_the_agent_sees_a_changing_mix(
    kind, tmp_path
):
    environment = environment_under("drift", tmp_path, kind)
    observation, info = environment.reset(seed=1)
    seen, scores = [observation], [info["score"]]
    for observation, reward, _ in taught(environment, 1, 2, 3):
        seen.append(observation)
        scores.append(environment.results[-1].report.score)
        assert reward == scores[-1] - scores[-2]
    assert [result.report.n for result in environment.results] == [100] * 4
    assert len(IterationFiles(tmp_path / "iterations", 1).read_completed()) == 100
    ids = [[c.instance.id for c in one["completed"]] for one in seen]
    assert len(set(map(tuple, ids))) == 4
    for one in seen:
        rewards = [c.reward for c in one["completed"]]
        assert len(rewards) == one["report"].n < 100
        assert one["report"].score == pytest.approx(sum(rewards) / len(rewards))
