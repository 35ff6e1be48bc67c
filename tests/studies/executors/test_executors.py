"""Behavior of all executors, and recovery of lost processes."""

import multiprocessing
import shutil
import subprocess
import sys
import time

import psutil
import pytest

from dataenvgym.errors import (
    ConfigurationError,
    InvalidRecordError,
    RunDirectoryError,
    WorkerLostError,
)
from dataenvgym.runs.config.values import resolved_yaml
from dataenvgym.runs.episodes.callbacks import EpisodePlan
from dataenvgym.runs.episodes.events import EventLog
from dataenvgym.storage import read_json
from dataenvgym.studies.executors.episode_driver import DrivenEpisode
from dataenvgym.studies.executors.in_process import InProcessExecutor
from dataenvgym.studies.executors.worker import (
    CarriedError,
    WorkerContext,
    WorkerRequest,
    _ending_without,
    run_request,
)
from tests.run_contents import contents
from tests.studies.executors.conftest import Listener
from tests.waiting import wait_for

RAY, SLURM = (pytest.param(name, marks=pytest.mark.slow) for name in ("ray", "slurm"))
FRAGILE = "agent._target_=my_students.Fragile"
ENDLESS = "agent._target_=my_students.Endless"
elsewhere = pytest.mark.parametrize("executor", ["processes", RAY, SLURM], indirect=True)


def status_of(episode):
    return read_json(episode.directory / "summary.json")["status"]


@elsewhere
def test_an_episode_comes_to_the_same_and_is_heard_the_same_as_in_this_process(executor, scripted):
    near, far = Listener(), Listener()
    here, there = scripted("runs_dir=here", callbacks=[near]), scripted(callbacks=[far])
    for where, episode in ((InProcessExecutor(), here), (executor, there)):
        (outcome,) = where.run([episode])
        outcome.result()
    assert contents(there.directory) == contents(here.directory)
    assert far.heard[0] == ("start", there.directory.name, there.directory)
    assert far.heard[1:] == near.heard[1:]
    assert ("phase", "end", 1, "train") in far.heard


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes", "ray"], indirect=True)
def test_the_real_students_weights_are_the_same_as_in_this_process(executor, real, undisturbed):
    episode = real()
    (outcome,) = executor.run([episode])
    outcome.result()
    files = contents(episode.directory)
    assert "iterations/002/adapter/adapter_model.safetensors" in files
    assert files == undisturbed(make=real)


def test_errors_arrive_as_they_are_and_hold_up_no_other_episode(executor, scripted):
    episodes = [
        scripted("agent._target_=my_students.Clumsy", "name=a"),
        scripted("agent=random", "episode.iterations=1", "name=b"),
        scripted("agent._target_=my_students.Buggy", "name=c"),
    ]
    clumsy, finished, buggy = executor.run(episodes)
    assert type(clumsy.error) is InvalidRecordError
    assert str(clumsy.error).startswith("record 0, field output")
    assert (clumsy.error.index, clumsy.error.field) == (0, "output")
    assert clumsy.summary is None
    with pytest.raises(ZeroDivisionError):
        buggy.result()
    summary, directory = finished.result(), episodes[1].directory
    assert (summary.agent, summary.status) == ("random", "finished")
    assert read_json(directory / "summary.json") == summary.model_dump(mode="json")
    assert (directory / "report.md").exists()
    assert [status_of(episode) for episode in episodes] == ["failed", "finished", "failed"]


def test_an_episode_that_cannot_work_leaves_nothing_behind(executor, scripted, folder):
    episode = scripted()
    episode.config.environment.mode = "x"
    (outcome,) = executor.run([episode])
    assert isinstance(outcome.error, ConfigurationError)
    assert not (folder / "runs").exists()


@pytest.mark.slow
def test_a_mistake_in_a_callback_ends_its_episode_alone_which_continues_later(
    executor, scripted, undisturbed
):
    wrong = Listener(OSError("disk full"))
    stopped = scripted("runs_dir=there", callbacks=[wrong])
    other = scripted("episode.iterations=1", "name=b")
    failed, finished = executor.run([stopped, other])
    assert isinstance(failed.error, OSError)
    assert finished.result().status == "finished"
    assert wrong.heard[-1] == ("end", "failed")
    assert status_of(stopped) == "failed"
    executor.run([scripted("runs_dir=there")])
    assert contents(stopped.directory) == undisturbed()


def test_an_interrupt_ends_all_which_another_executor_continues(executor, scripted, undisturbed):
    hasty = Listener(KeyboardInterrupt())
    stopped = scripted("runs_dir=there", callbacks=[hasty])
    with pytest.raises(KeyboardInterrupt):
        executor.run([stopped, scripted(ENDLESS, "name=b")])
    assert hasty.heard[-1] == ("end", "interrupted")
    assert status_of(stopped) == "interrupted"
    InProcessExecutor().run([scripted("runs_dir=there")])
    assert contents(stopped.directory) == undisturbed()


def test_an_interrupt_of_the_episode_itself_ends_all(executor, scripted):
    hasty = scripted("agent._target_=my_students.Hasty", "name=a")
    with pytest.raises(KeyboardInterrupt):
        executor.run([hasty, scripted(ENDLESS, "name=b")])
    assert status_of(hasty) == "interrupted"


def test_iterations_that_an_environment_does_again_are_told_when_they_are_finished(scripted):
    heard = Listener()
    one = DrivenEpisode(scripted(callbacks=[heard]), opens=False)
    one.request()
    plan = EpisodePlan("run", "task", "agent", 0, 2, n_finished=2, directory=one.directory)
    EventLog(one.directory).on_start(plan)  # they are not there: it did not resume
    one.follow()
    assert [kind for kind, *_ in heard.heard] == ["start"]
    shutil.rmtree(one.directory)
    (outcome,) = InProcessExecutor().run([scripted()])
    one.end(outcome.result())
    assert [number for kind, number, *_ in heard.heard if kind == "iteration"] == [0, 1, 2]


@pytest.mark.slow
def test_fresh_starts_over(executor, scripted):
    executor.run([scripted("name=a", "episode.iterations=1")])
    again = scripted("name=a", "seed=1", "episode.iterations=1", fresh=True)
    (outcome,) = executor.run([again])
    assert outcome.result().seed == 1


@pytest.mark.slow
@elsewhere
def test_it_continues_where_another_executor_left_off(executor, scripted, undisturbed):
    InProcessExecutor().run([scripted("episode.iterations=1", "name=mixed")])
    mixed = scripted("name=mixed")
    (outcome,) = executor.run([mixed])
    outcome.result()
    assert contents(mixed.directory) == undisturbed(calls=(1, 2))


@elsewhere
def test_the_same_run_is_not_written_twice_at_the_same_time(executor, scripted):
    outcomes = executor.run([scripted(), scripted()])
    (refused,) = [outcome.error for outcome in outcomes if outcome.error is not None]
    assert isinstance(refused, RunDirectoryError)
    assert "another process is writing" in str(refused)


DOUBTFUL = """
from dataenvgym.events import warn_run
from dataenvgym.domains.math.pocket import PocketMathTask


class Doubtful(PocketMathTask):
    def __init__(self, **options):
        super().__init__(**options)
        warn_run("two rows of the file are the same")
"""


def test_warnings_while_an_episode_is_built_are_kept_with_the_run(executor, scripted, folder):
    (folder / "doubtful.py").write_text(DOUBTFUL)
    hearing = Listener()
    episode = scripted(
        "task._target_=doubtful.Doubtful", "episode.iterations=1", "name=a", callbacks=[hearing]
    )
    (outcome,) = executor.run([episode])
    text = "two rows of the file are the same"
    assert [warning.text for warning in outcome.result().warnings] == [text]
    assert [what[1] for what in hearing.heard if what[0] == "warning"] == [text]
    assert text in (episode.directory / "report.md").read_text()


# --- processes that are lost ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("processes", {}),
        *(
            pytest.param(name, {"max_restarts": 0}, marks=pytest.mark.slow)
            for name in ("ray", "slurm")
        ),
    ],
)
def test_a_lost_process_fails_its_episode_alone_which_continues_later(
    executor_of, scripted, name, options
):
    hearing = Listener()
    fragile = scripted(FRAGILE, "name=a", callbacks=[hearing])
    lost, finished = executor_of(name, **options).run(
        [fragile, scripted("episode.iterations=1", "name=b")]
    )
    assert isinstance(lost.error, WorkerLostError)
    assert finished.result().status == "finished"
    assert hearing.heard[-1] == ("end", "failed")
    summary = read_json(fragile.directory / "summary.json")
    assert (summary["status"], len(summary["iterations"])) == ("failed", 2)
    (again,) = executor_of(name, **options).run([fragile])
    assert len(again.result().iterations) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ray", "slurm"])
def test_a_cluster_replaces_a_lost_process_by_one_that_continues(
    executor_of, scripted, folder, undisturbed, name
):
    hearing = Listener()
    killed = scripted(FRAGILE, "runs_dir=there", callbacks=[hearing])
    (outcome,) = executor_of(name).run([killed])
    outcome.result()
    assert (folder / "died-teaching").exists()
    assert contents(killed.directory) == undisturbed(FRAGILE)
    told = [what for what in hearing.heard if what[0] in ("start", "iteration", "end")]
    assert told == [
        ("start", killed.directory.name, killed.directory),
        ("iteration", 0),
        ("iteration", 1),
        ("iteration", 2),
        ("end", "finished"),
    ]


@pytest.mark.slow
def test_a_student_that_dies_while_it_answers_or_learns_is_replaced_with_its_adapter(
    executor_of, scripted, folder, undisturbed
):
    kind = "predictor._target_=my_students.Mortal"
    killed = scripted(kind, "runs_dir=there")
    (outcome,) = executor_of("ray").run([killed])
    outcome.result()
    assert (folder / "died-answering").exists()
    assert (folder / "died-training").exists()
    assert contents(killed.directory) == undisturbed(kind)


@pytest.mark.slow
def test_a_student_that_cannot_live_fails_the_episode_which_continues_later(
    executor_of, scripted, folder, undisturbed
):
    kind = "predictor._target_=my_students.Sickly"
    episode = scripted(kind, "runs_dir=there")
    (folder / "sick").touch()
    (outcome,) = executor_of("ray", max_restarts=1).run([episode])
    assert isinstance(outcome.error, WorkerLostError)
    assert "the last of 2" in str(outcome.error)
    assert status_of(episode) == "failed"
    assert not list(episode.directory.rglob("completed.jsonl"))
    (folder / "sick").unlink()
    (outcome,) = executor_of("ray").run([episode])
    outcome.result()
    assert contents(episode.directory) == undisturbed(kind)


# --- storage --------------------------------------------------------------------------------------


@pytest.fixture
def blind_node(executor_of, folder):
    """A second node of the Ray cluster, to which the folder `local` is empty."""
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    ray, executor = pytest.importorskip("ray"), executor_of("ray")
    (folder / "local").mkdir()
    address = ray.get_runtime_context().gcs_address
    bare = ["--tmpfs", str(folder / "local"), "--tmpfs", "/tmp/ray"]  # of Ray's as well
    machine = ["bwrap", "--dev-bind", "/", "/", *bare, "--die-with-parent"]
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    names = [f"--address={address}", "--node-name=blind", "--disable-usage-stats"]
    with open(folder / "node.log", "wb") as log:
        node = subprocess.Popen([*machine, *start, *names], stdout=log, stderr=log)
    try:
        wait_for(lambda: sum(n["Alive"] for n in ray.nodes()) == 2)
        yield executor
    finally:
        for process in psutil.Process(node.pid).children(recursive=True):
            if process.name() == "raylet":
                process.terminate()  # the cluster hears of it at once
        wait_for(lambda: sum(n["Alive"] for n in ray.nodes()) == 1)
        node.kill()
        node.wait()


@pytest.mark.slow
def test_a_machine_that_does_not_see_the_runs_is_named_before_anything_starts(
    blind_node, scripted, folder
):
    with pytest.raises(ConfigurationError, match="blind"):
        blind_node.run([scripted("runs_dir=local/runs")])
    assert not list((folder / "local").iterdir())
    (outcome,) = blind_node.run([scripted("episode.iterations=1", "runs_dir=shared")])
    assert outcome.result().status == "finished"
    assert not list(folder.glob(".dataenvgym-*"))


def test_a_task_that_does_not_see_its_run_touches_nothing(scripted, folder):
    request = WorkerRequest(
        config=resolved_yaml(scripted().config),
        fresh=False,
        holder=folder / "runs" / ".holder.1-1.tmp",
        context=WorkerContext.here(),
    )
    reply = run_request(request)
    assert isinstance(reply, CarriedError)
    with pytest.raises(RunDirectoryError, match="the run directory"):
        raise reply.error()
    assert not (folder / "runs").exists()


def test_an_order_ends_once_another_driver_opens_the_run(scripted):
    one, other = DrivenEpisode(scripted()), DrivenEpisode(scripted())
    holder = one.request().holder
    assert holder is not None
    assert holder.exists()
    one.fail(KeyboardInterrupt())
    assert not holder.exists()
    holder.touch()  # as SIGKILL leaves it
    assert other.request().holder is not None
    assert not holder.exists()
    other.fail(KeyboardInterrupt())
    assert not list(one.directory.glob(".*"))


def test_a_worker_whose_order_ends_writes_nothing_more(folder):
    holder, written = folder / "holder", folder / "written"
    holder.touch()

    def work():
        with _ending_without(holder):
            time.sleep(30)
        written.touch()

    worker = multiprocessing.get_context("fork").Process(target=work)
    worker.start()
    holder.unlink()
    worker.join(20)
    assert (worker.exitcode, written.exists()) == (1, False)
