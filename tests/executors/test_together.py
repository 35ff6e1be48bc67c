"""Episodes whose adapters are trained together."""

import multiprocessing
import os
import signal

import pytest

from dataenvgym.executors import InProcessExecutor, TogetherExecutor
from dataenvgym.storage import read_json, read_jsonl
from dataenvgym.trainers import many

KINDS = ("agent=random", "agent=skill_list")


def run(episodes):
    for outcome in TogetherExecutor(workers=2, threads=1).run(episodes):
        outcome.result()


def scores_of(episode):
    kept = read_json(episode.directory / "summary.json")
    return [one["val_score"] for one in kept["iterations"]], kept["test_score_after"]


def losses_of(episode):
    files = sorted(episode.directory.glob("iterations/*/trainer_log.jsonl"))
    return [row["loss"] for file in files for row in read_jsonl(file) if "loss" in row]


@pytest.fixture
def alone(real):
    """Episodes of the pocket student, each of which ran by itself."""
    episodes = [real(kind, "runs_dir=alone") for kind in KINDS]
    for outcome in InProcessExecutor().run(episodes):
        outcome.result()
    return episodes


def assert_alike(episodes, alone):
    for one, other in zip(episodes, alone, strict=True):
        assert len(losses_of(one)) > 4
        assert losses_of(one) == pytest.approx(losses_of(other), abs=1e-4)
        assert scores_of(one) == scores_of(other)


@pytest.mark.slow
def test_pocket_students_learn_together_what_each_learns_alone(real, alone):
    run(episodes := [real(kind, "runs_dir=together") for kind in KINDS])
    assert_alike(episodes, alone)


def _killed_in_the_second_training(episodes):
    calls, train_each = iter(range(10)), many.train_each

    def deadly(requests, threads):
        if next(calls):
            for request in requests:
                request.config_path.with_name("adapter").mkdir(exist_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        train_each(requests, threads)

    import dataenvgym.executors.together as module

    module.train_each = deadly
    TogetherExecutor(workers=2, threads=1).run(episodes)


@pytest.mark.slow
def test_a_run_killed_in_a_shared_training_ends_as_an_undisturbed_one(real, alone):
    episodes = [real(kind, "runs_dir=killed") for kind in KINDS]
    process = multiprocessing.get_context("fork").Process(
        target=_killed_in_the_second_training, args=(episodes,)
    )
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    assert len(losses_of(episodes[0])) > 0
    assert not (episodes[0].directory / "summary.json").exists() or (
        read_json(episodes[0].directory / "summary.json")["status"] != "finished"
    )
    run(episodes)
    assert_alike(episodes, alone)
