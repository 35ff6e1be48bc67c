"""Episodes whose adapters are trained together."""

import multiprocessing
import os
import signal

import pytest

from dataenvgym.events import hearing_warnings
from dataenvgym.runs.config import compose
from dataenvgym.storage import read_json, read_jsonl
from dataenvgym.students.trainers import together as trainings
from dataenvgym.studies.executors import together
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.interface import EpisodeJob
from dataenvgym.studies.executors.together import TogetherExecutor

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
    calls, train_each = iter(range(10)), trainings.train_each

    def deadly(requests, threads):
        if next(calls):
            for request in requests:
                request.config_path.with_name("adapter").mkdir(exist_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        train_each(requests, threads)

    trainings.train_each = deadly
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


# --- memory ---


def warning_of(monkeypatch, free, *options, n=4, workers=16, threads=2):
    monkeypatch.setattr(together, "free_memory", lambda: free)
    told: list[str] = []
    with hearing_warnings(told.append):
        jobs = [EpisodeJob(compose([f"seed={seed}", *options])) for seed in range(n)]
        TogetherExecutor(workers=workers, threads=threads).estimate(jobs)
    return told


def test_a_study_that_may_not_fit_into_memory_is_told_before_it_starts(monkeypatch):
    # pocket-v2: 0.89 million weights; layers of (128 + 128) * 4 + (128 + 352) * 3 = 2464 by rank
    options = ("trainer.lora_rank=1000", "trainer.cutoff_len=500")
    (text,) = warning_of(monkeypatch, 10**8, *options)
    assert "4 episodes that train together need up to 1.4 GB of memory, and 0.1 GB are free" in text
    # 4 adapters of 4 layers * 1000 * 2464 numbers of 4 bytes, 7 times: 1.1 GB
    assert "1.1 GB for adapters of rank 1000" in text
    # 16 * 500 and twice 512 tokens of 4 * (8 * 128 + 2 * 352) + 3 * 768 = 9216 numbers: .33 GB
    assert "0.3 GB for batches of up to 8000 tokens" in text
    assert "set executor.workers (now 16)" in text
    (fewer,) = warning_of(monkeypatch, 10**8, *options, workers=2)
    assert "2 episodes that train together need up to 0.9 GB" in fewer


def test_a_study_that_fits_or_trains_elsewhere_is_not_warned_of(monkeypatch):
    assert warning_of(monkeypatch, 10**10) == []
    elsewhere = ("trainer=llama_factory", "trainer.command=/bin/true", "trainer.lora_rank=1000")
    assert warning_of(monkeypatch, 0, *elsewhere) == []
    for nowhere in ("somebody/on-the-hub", "/no/such/folder"):
        assert warning_of(monkeypatch, 0, f"student.path={nowhere}") == []


def test_the_executor_estimates_before_any_episode_runs(monkeypatch):
    def stop(executor, episodes):
        raise KeyboardInterrupt(*episodes)

    monkeypatch.setattr(TogetherExecutor, "estimate", stop)
    job = EpisodeJob(compose([]))
    with pytest.raises(KeyboardInterrupt) as caught:
        TogetherExecutor(workers=3, threads=1).run([job])
    assert caught.value.args == (job,)
