"""Episodes in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from dataenvgym.episodes import EpisodeCallback
from dataenvgym.errors import ConfigurationError, InvalidRecordError, WorkerLostError
from dataenvgym.executors import ExecutorInterface, InProcessExecutor, ProcessExecutor
from dataenvgym.storage import read_json


class Heard(EpisodeCallback):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def on_start(self, plan):
        self.events.append(("start", plan.name))

    def on_iteration(self, summary):
        self.events.append(summary.iteration)

    def on_end(self, summary):
        self.events.append(summary.status)


def test_it_is_an_executor():
    assert isinstance(ProcessExecutor(), ExecutorInterface)


def test_workers_are_as_many_as_there_are_cores_for_the_students():
    cores = len(os.sched_getaffinity(0))
    assert ProcessExecutor().workers == cores
    assert ProcessExecutor(threads=2 * cores).workers == 1
    assert ProcessExecutor(workers=7, threads=2).workers == 7
    with pytest.raises(ConfigurationError, match="workers is 0, expected 1 or more"):
        ProcessExecutor(workers=0)


def test_an_episode_comes_to_the_same_as_in_this_process(scripted, comparable):
    (here,) = InProcessExecutor().run([scripted("runs_dir=here")])
    heard = Heard()
    episode = scripted("runs_dir=there", callbacks=[heard])
    (there,) = ProcessExecutor(workers=1).run([episode])
    assert [i.val_score for i in there.result().iterations] == [
        i.val_score for i in here.result().iterations
    ]
    assert comparable(episode.directory) == comparable(scripted("runs_dir=here").directory)
    assert heard.events == [("start", episode.directory.name), 0, 1, 2, "finished"]


@pytest.mark.slow
def test_the_real_students_weights_are_the_same_as_in_this_process(real, comparable):
    (here,) = InProcessExecutor().run([real("runs_dir=here")])
    (there,) = ProcessExecutor(workers=1).run([real("runs_dir=there")])
    assert here.result().best_iteration == there.result().best_iteration
    files = comparable(real("runs_dir=there").directory)
    assert files == comparable(real("runs_dir=here").directory)
    assert "iterations/002/adapter/adapter_model.safetensors" in files


def test_a_failed_episode_holds_up_none_of_the_others(scripted):
    episodes = [scripted("agent._target_=pupils.Clumsy", "name=a"), scripted("name=b")]
    failed, finished = ProcessExecutor(workers=2).run(episodes)
    with pytest.raises(InvalidRecordError, match="record 0, field output"):
        failed.result()
    assert finished.result().status == "finished"
    assert read_json(episodes[0].directory / "summary.json")["status"] == "failed"


def test_a_child_that_is_killed_takes_nobody_with_it_and_is_gone_on_with(scripted):
    heard = Heard()
    fragile = scripted("agent._target_=pupils.Fragile", "name=a", callbacks=[heard])
    lost, finished = ProcessExecutor(workers=2).run([fragile, scripted("name=b")])
    with pytest.raises(WorkerLostError, match="the process of 'a' was ended by SIGKILL"):
        lost.result()
    assert finished.result().status == "finished"
    assert heard.events[-1] == "failed"
    assert "SIGKILL" in read_json(fragile.directory / "summary.json")["error"]
    (again,) = ProcessExecutor(workers=1).run([fragile])
    assert len(again.result().iterations) == 3


def test_what_a_child_said_last_is_in_the_error_of_its_loss(scripted, folder):
    (folder / "loud.py").write_text(
        "import os\n"
        "from dataenvgym.agents import Agent\n"
        "class Loud(Agent):\n"
        "    def __call__(self, completed, predictor):\n"
        "        print('out of luck', flush=True)\n"
        "        os._exit(7)\n"
    )
    (lost,) = ProcessExecutor().run([scripted("agent._target_=loud.Loud")])
    with pytest.raises(WorkerLostError, match=r"exit code 7.*\nout of luck\n"):
        lost.result()


def test_an_episode_that_cannot_work_leaves_nothing_behind(scripted, folder):
    (outcome,) = ProcessExecutor().run([scripted("environment.mode=x")])
    assert isinstance(outcome.error, ConfigurationError)
    assert not (folder / "runs").exists()


def test_a_mistake_in_a_callback_ends_its_episode_alone(scripted):
    class Wrong(EpisodeCallback):
        def on_iteration(self, summary):
            raise ZeroDivisionError

    episodes = [scripted("name=a", callbacks=[Wrong()]), scripted("name=b")]
    failed, finished = ProcessExecutor(workers=1).run(episodes)
    assert isinstance(failed.error, ZeroDivisionError)
    assert finished.result().status == "finished"


DRIVER = """
import sys
from pathlib import Path
from dataenvgym.config import compose
from dataenvgym.episodes import EpisodeCallback
from dataenvgym.executors import Episode, ProcessExecutor

class Sign(EpisodeCallback):
    def on_start(self, plan):
        Path("started-" + plan.name).touch()

overrides = sys.argv[1:]
episodes = [Episode(compose([*overrides, f"name={n}"]), [Sign()]) for n in "ab"]
print("main", flush=True)
try:
    ProcessExecutor(workers=2).run(episodes)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
SLEEPY = """
import os, time
from pathlib import Path
from dataenvgym.agents import Agent

class Sleepy(Agent):
    def __call__(self, completed, predictor):
        Path(f"pid-{os.getpid()}").touch()
        time.sleep(300)
"""


def wait_for(condition, seconds: float = 60.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["SIGINT", "SIGKILL"])
def test_children_end_with_the_process_that_runs_them(folder, scripted_overrides, number):
    (folder / "driver.py").write_text(DRIVER)
    (folder / "sleepy.py").write_text(SLEEPY)
    overrides = [*scripted_overrides, "agent._target_=sleepy.Sleepy"]
    driver = subprocess.Popen(
        [sys.executable, "driver.py", *overrides],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    try:
        signs = wait_for(lambda: len(s := list(folder.glob("pid-*"))) == 2 and s)
        pids = [int(sign.name.removeprefix("pid-")) for sign in signs]
        assert all(psutil.pid_exists(pid) for pid in pids)
        driver.send_signal(number)
        said, _ = driver.communicate(timeout=60)
    finally:
        driver.kill()
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    # the script itself ran once: no child runs it again
    assert said.splitlines() == (["main", "interrupted"] if number == signal.SIGINT else ["main"])
    status = read_json(folder / "runs" / "a" / "summary.json")["status"]
    assert status == "interrupted"
