"""Episodes on a real Ray cluster of this machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dataenvgym.episodes import EpisodeCallback
from dataenvgym.errors import (
    ConfigurationError,
    InvalidRecordError,
    PredictorLostError,
    RunDirectoryError,
    WorkerLostError,
)
from dataenvgym.executors import InProcessExecutor, RayExecutor
from dataenvgym.storage import read_json

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray = pytest.importorskip("ray", reason="needs the extra [ray]")
    ray.init(num_cpus=2, log_to_driver=False, logging_level="error", include_dashboard=False)
    yield
    ray.shutdown()


class Listener(EpisodeCallback):
    """Keeps what it hears; raises `error` once an iteration is finished."""

    def __init__(self, error=None):
        self.heard = []
        self.error = error

    def on_start(self, plan):
        self.heard.append(("start", plan.directory))

    def on_phase(self, event, iteration, phase, seconds):
        self.heard.append(("phase", event, iteration, phase))

    def on_iteration(self, summary):
        self.heard.append(("iteration", summary.iteration))
        if self.error is not None:
            raise self.error

    def on_end(self, summary):
        self.heard.append(("end", summary.status))


def run(*episodes, executor=None):
    return [outcome.result() for outcome in (executor or RayExecutor()).run(episodes)]


def test_the_same_episodes_come_to_the_same_under_both_executors(real, comparable):
    kinds = ("agent=skill_list", "agent=random")
    here = [real(kind, "runs_dir=here") for kind in kinds]
    there = [real(kind, "runs_dir=there", "executor=ray") for kind in kinds]
    run(*here, executor=InProcessExecutor())
    run(*there)
    for one, other in zip(here, there, strict=True):
        assert one.directory.name == other.directory.name
        files = comparable(one.directory)
        assert any(name.endswith("adapter_model.safetensors") for name in files)
        assert comparable(other.directory) == files


def test_a_student_killed_while_it_answers_or_learns_is_made_again(real, comparable, folder):
    kind = "predictor._target_=pupils.Mortal"
    killed, undisturbed = real(kind, "runs_dir=there"), real(kind, "runs_dir=here")
    run(killed)
    assert (folder / "died-answering").exists()
    assert (folder / "died-training").exists()
    run(undisturbed, executor=InProcessExecutor())
    assert comparable(killed.directory) == comparable(undisturbed.directory)


def test_a_student_that_cannot_live_fails_the_episode_which_can_be_gone_on_with(
    scripted, folder, comparable
):
    kind = "predictor._target_=pupils.Sickly"
    episode, undisturbed = scripted(kind, "runs_dir=there"), scripted(kind, "runs_dir=here")
    (folder / "sick").touch()
    (outcome,) = RayExecutor(max_restarts=1).run([episode])
    assert isinstance(outcome.error, PredictorLostError)
    assert read_json(episode.directory / "summary.json")["status"] == "failed"
    assert not list(episode.directory.rglob("completed.jsonl"))
    (folder / "sick").unlink()
    run(episode)
    run(undisturbed, executor=InProcessExecutor())
    assert comparable(episode.directory) == comparable(undisturbed.directory)


def test_a_lost_worker_is_replaced_by_one_that_goes_on(scripted, folder, comparable):
    kind = "agent._target_=pupils.Fragile"
    listener = Listener()
    killed = scripted(kind, "runs_dir=there", callbacks=[listener])
    run(killed)
    assert (folder / "died-teaching").exists()
    undisturbed = scripted(kind, "runs_dir=here")
    run(undisturbed, executor=InProcessExecutor())
    assert comparable(killed.directory) == comparable(undisturbed.directory)
    told = [what for what in listener.heard if what[0] in ("start", "iteration", "end")]
    assert told == [
        ("start", killed.directory),
        ("iteration", 0),
        ("iteration", 1),
        ("iteration", 2),
        ("end", "finished"),
    ]


def test_a_worker_lost_too_often_fails_the_episode(scripted):
    (outcome,) = RayExecutor(max_restarts=0).run([scripted("agent._target_=pupils.Fragile")])
    assert isinstance(outcome.error, WorkerLostError)
    assert "died 1 times" in str(outcome.error)


def test_callbacks_hear_here_what_happens_there(scripted):
    here, there = Listener(), Listener()
    run(scripted("name=a", callbacks=[here]), executor=InProcessExecutor())
    run(scripted("name=b", callbacks=[there]))
    assert here.heard[1:] == there.heard[1:]
    assert ("phase", "end", 1, "train") in there.heard


@pytest.mark.parametrize(
    ("error", "status"), [(OSError("disk full"), "failed"), (KeyboardInterrupt(), "interrupted")]
)
def test_a_driver_that_ends_early_goes_on_later(scripted, comparable, error, status):
    listener = Listener(error)
    stopped = scripted("runs_dir=there", callbacks=[listener])
    with pytest.raises(type(error)):
        run(stopped)
    assert listener.heard[-1] == ("end", status)
    assert read_json(stopped.directory / "summary.json")["status"] == status
    run(scripted("runs_dir=there"))
    undisturbed = scripted("runs_dir=here")
    run(undisturbed, executor=InProcessExecutor())
    assert comparable(stopped.directory) == comparable(undisturbed.directory)


@pytest.mark.parametrize("executors", [("in_process", "ray"), ("ray", "in_process")])
def test_one_executor_goes_on_where_the_other_left_off(real, comparable, executors):
    made = {"in_process": InProcessExecutor(), "ray": RayExecutor()}
    for n, name in enumerate(executors, start=1):
        mixed = real(f"executor={name}", f"episode.iterations={n}", "runs_dir=mixed")
        run(mixed, executor=made[name])
    undisturbed = real("runs_dir=pure")
    run(undisturbed, executor=InProcessExecutor())
    mine, pure = comparable(mixed.directory), comparable(undisturbed.directory)
    # the test split of the first call's best iteration may be there as well
    assert {n: f for n, f in mine.items() if n in pure} == pure


def test_errors_arrive_as_they_are_and_hold_up_no_other_episode(scripted):
    clumsy, buggy, finished = RayExecutor().run(
        [
            scripted("agent._target_=pupils.Clumsy", "name=a"),
            scripted("agent._target_=pupils.Buggy", "name=b"),
            scripted("name=c"),
        ]
    )
    assert type(clumsy.error) is InvalidRecordError
    assert str(clumsy.error).startswith("record 0, field output")
    assert (clumsy.error.index, clumsy.error.field) == (0, "output")
    assert type(buggy.error) is ZeroDivisionError
    assert "return 1 // 0" in buggy.error.__notes__[0]
    assert finished.result().status == "finished"


def test_an_interrupt_on_a_worker_ends_all(scripted, folder):
    with pytest.raises(KeyboardInterrupt):
        run(scripted("agent._target_=pupils.Hasty", "name=a"), scripted("name=b"))
    assert read_json(folder / "runs" / "a" / "summary.json")["status"] == "interrupted"


def test_an_episode_that_cannot_work_leaves_nothing_behind(scripted, folder):
    (outcome,) = RayExecutor().run([scripted("environment.mode=x")])
    assert isinstance(outcome.error, ConfigurationError)
    assert not (folder / "runs").exists()


def test_two_drivers_do_not_write_the_same_run(scripted):
    first, second = RayExecutor().run([scripted(), scripted()])
    assert first.result().status == "finished"
    assert isinstance(second.error, RunDirectoryError)
    assert "another process is writing" in str(second.error)


@pytest.fixture
def command(folder, scripted_overrides):
    """`dataenvgym run executor=ray` in a process of its own."""

    def run_it(*overrides):
        options = ["--plain", "executor=ray", "executor.num_cpus=1", *scripted_overrides]
        return subprocess.run(
            [sys.executable, "-m", "dataenvgym.cli.main", "run", *options, *overrides],
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )

    return run_it


def test_the_command_line_starts_a_cluster_and_says_nothing_of_it(command, folder):
    done = command("name=a")
    assert (done.returncode, done.stderr) == (0, "")
    assert "iteration 2/2" in done.stdout
    assert read_json(folder / "runs" / "a" / "summary.json")["status"] == "finished"


def test_a_worker_that_dies_leaves_no_text_of_rays_on_the_screen(command, folder):
    done = command("name=a", "agent._target_=pupils.Fragile")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "died-teaching").exists()
    assert "raylet" not in done.stdout
    assert "worker died" not in done.stdout


def test_a_cluster_that_is_too_small_is_refused(command, folder):
    done = command("executor.cpus_per_episode=2")
    assert done.returncode == 2
    assert "executor.cpus_per_episode is 2, and the Ray cluster here has 1 CPUs" in done.stderr
    assert not (folder / "runs").exists()
