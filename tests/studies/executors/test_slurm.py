"""Jobs of submitit at their time limit, and machines without Slurm."""

import os
from random import Random

import pytest

from dataenvgym.errors import ConfigurationError, WorkerLostError
from dataenvgym.storage import read_json
from dataenvgym.studies.executors import episode_driver, slurm_executor
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.slurm_executor import SlurmExecutor
from tests.run_contents import contents
from tests.studies.executors.conftest import Listener


@pytest.mark.slow
def test_a_job_at_its_time_limit_goes_on_in_another_one(executor_of, scripted, folder):
    hearing = Listener()
    stopped = "agent._target_=my_students.Stopped"
    episode = scripted(stopped, "runs_dir=there", callbacks=[hearing])
    (outcome,) = executor_of("slurm").run([episode])
    assert outcome.result().status == "finished"
    assert len(list((episode.directory.parent / ".jobs").glob("*"))) == 2
    assert [what[1] for what in hearing.heard if what[0] == "iteration"] == [0, 1, 2]
    undisturbed = scripted(stopped, "runs_dir=here")
    InProcessExecutor().run([undisturbed])
    assert contents(episode.directory) == contents(undisturbed.directory)


@pytest.mark.slow
def test_an_episode_that_its_time_limit_keeps_from_any_progress_fails(executor_of, scripted):
    slow = scripted("agent._target_=my_students.Slow", "name=a", "executor=slurm")
    (outcome,) = executor_of("slurm", timeout_min=1).run([slow])
    assert isinstance(outcome.error, WorkerLostError)
    assert "timeout_min" in str(outcome.error)
    events = (slow.directory / "events.jsonl").read_text()
    assert events.count('"event":"start"') == 4  # one reached the second iteration, three not more
    assert read_json(slow.directory / "summary.json")["status"] == "failed"


@pytest.fixture
def answers(folder, monkeypatch):
    """Slurm's programs, for a job that never runs; returns the file of squeue's next answers."""
    programs = {"srun": "", "scancel": "", "sbatch": "echo Submitted batch job 7"}
    squeue = """
read -r answer <answers || answer=$(cat last)
sed -i 1d answers
[ "$answer" = error ] && { echo no controller >&2; exit 1; }
echo "$answer"; echo "8 RUNNING"
"""
    (folder / "bin").mkdir()
    for name, text in {**programs, "squeue": squeue}.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(slurm_executor, "_POLL", 0.0)
    monkeypatch.setattr(episode_driver, "_PERIOD", 0.0)
    return folder / "answers"


ALIVE = ("7 PENDING", "7 RUNNING", "7 COMPLETING", "7 SUSPENDED", "7 REQUEUE_HOLD", "error")
ENDED = ("7 CANCELLED", "7 FAILED", "7 TIMEOUT", "7 NODE_FAIL", "7 OUT_OF_MEMORY", "7 COMPLETED")


@pytest.mark.parametrize("end", [*ENDED, ""])
def test_a_job_is_lost_once_slurm_says_twice_that_it_has_ended(answers, scripted, caplog, end):
    pytest.importorskip("submitit", reason="needs the extra [slurm]")
    draw = Random(end)
    before = ["7 PENDING"]
    for _ in range(8):
        before += [draw.choice(ALIVE)] + [end] * draw.randint(0, 1) + ["7 RUNNING"]
    (answers.parent / "last").write_text(end)
    answers.write_text("\n".join([*before, "error", "error", ""]))
    (outcome,) = SlurmExecutor(max_restarts=0).run([scripted()])
    assert isinstance(outcome.error, WorkerLostError)
    assert (end[2:] or "no longer queued") in str(outcome.error)
    assert not answers.read_text()  # it was not lost before
    assert "no controller" in caplog.text


def test_without_slurm_it_is_refused_before_anything_starts(scripted, folder, monkeypatch):
    pytest.importorskip("submitit", reason="needs the extra [slurm]")
    monkeypatch.setenv("PATH", str(folder))  # this machine may have a Slurm
    with pytest.raises(ConfigurationError, match="srun"):
        SlurmExecutor().run([scripted()])
    assert not (folder / "runs").exists()
