"""Episodes on a Slurm of the tests alone whose jobs are cancelled, killed and out of time."""

import os
import threading

import pytest

from dataenvgym.storage import read_json
from dataenvgym.studies.executors.slurm_executor import SlurmExecutor
from tests.processes import MAIN, python
from tests.run_contents import contents
from tests.studies.executors.conftest import SCRIPTED
from tests.studies.executors.own_slurm import missing, own_slurm
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def running_slurm():
    pytest.importorskip("submitit", reason="needs the extra [slurm]")
    if (why := missing()) is not None:
        pytest.skip(why)
    with own_slurm() as slurm:
        yield slurm


@pytest.fixture
def slurm(running_slurm, monkeypatch):
    """The Slurm that this process, and what it starts, finds; no other one."""
    for name in os.environ.keys() - running_slurm.environment.keys():
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_CONF", running_slurm.environment["SLURM_CONF"])
    return running_slurm


@pytest.fixture
def held(folder, scripted):
    """Makes an episode whose first job waits in the second iteration."""

    def make(name: str, **options):
        overrides = ("agent._target_=my_students.Held", f"+agent.mark={name}.job")
        return scripted(*overrides, f"name={name}", **options)

    return make


def beside(act, *arguments):
    """Do something while the driver runs."""
    thread = threading.Thread(target=act, args=arguments)
    thread.start()
    return thread


def job_of(folder, name):
    """The number of the job that waits in this episode."""
    wait_for((folder / f"{name}.job").exists)
    return (folder / f"{name}.job").read_text()


def test_jobs_that_end_early_are_noticed_and_come_to_the_same_as_in_this_process(
    slurm, scripted, held, folder, undisturbed
):
    episodes = {
        "plain": scripted("name=plain"),
        "killed": scripted("agent._target_=my_students.Fragile", "name=killed"),
        "cancelled": held("cancelled"),
        "timed": held("timed"),
        "deaf": scripted("name=deaf"),
    }

    def disturb():
        slurm.ask("scancel", job_of(folder, "cancelled"))

    def deafen():  # before submitit listens, as if the time limit were near
        def jobs():
            return [int(p.name) for p in (folder / "runs" / ".jobs").glob("*") if p.name.isdigit()]

        wait_for(lambda: len(jobs()) == len(episodes))
        last = str(max(jobs()))
        state = ("squeue", "--noheader", f"--jobs={last}", "--format=%T")
        wait_for(lambda: "RUNNING" in slurm.ask(*state))
        slurm.ask("scancel", "--signal=USR2", last)

    threads = [beside(disturb), beside(deafen)]
    outcomes = SlurmExecutor(timeout_min=1).run([*episodes.values()])
    for thread in threads:
        thread.join()
    assert [outcome.result().status for outcome in outcomes] == ["finished"] * 5
    for name, episode in episodes.items():
        there = contents(episode.directory)
        assert there == undisturbed(*OVERRIDES.get(name, ()), f"name={name}"), name


OVERRIDES = {
    "killed": ("agent._target_=my_students.Fragile",),
    "cancelled": ("agent._target_=my_students.Held", "+agent.mark=cancelled.job"),
    "timed": ("agent._target_=my_students.Held", "+agent.mark=timed.job"),
}


def test_a_machine_without_power_is_noticed_by_slurm_which_starts_the_job_again(
    slurm, held, folder, undisturbed
):
    def lose():
        job_of(folder, "dark")
        slurm.kill_node()
        slurm.start_node()

    episode, thread = held("dark"), beside(lose)
    (outcome,) = SlurmExecutor(max_restarts=0).run([episode])
    thread.join()
    assert outcome.result().status == "finished"
    overrides = ("agent._target_=my_students.Held", "+agent.mark=dark.job", "name=dark")
    assert contents(episode.directory) == undisturbed(*overrides)


def test_a_study_whose_job_is_cancelled_says_so_and_the_same_command_continues(slurm, folder):
    study = [
        *(*MAIN, "study", "--plain", "--name=s", "--no-bounds", *SCRIPTED, "seed=0,1"),
        *("agent._target_=my_students.Held", "+agent.mark=${seed}.job"),
        *("executor=slurm", "executor.max_restarts=0"),
    ]

    def cancel():
        for seed in ("0", "1"):
            slurm.ask("scancel", job_of(folder, seed))

    thread = beside(cancel)
    failed = python(*study)
    thread.join()
    assert failed.returncode == 1
    assert "CANCELLED" in failed.stderr
    assert "sacct" not in failed.stdout + failed.stderr
    again = python(*study)
    assert (again.returncode, again.stderr) == (0, "")
    summaries = (folder / "studies" / "s").rglob("summary.json")
    assert [read_json(one)["status"] for one in summaries] == ["finished"] * 2
