"""Runs with the real student and trainer, killed with SIGKILL and started again."""

import multiprocessing
import runpy
import signal
from pathlib import Path

import pytest

from tests.run_contents import contents

SCRIPT = Path(__file__).parent / "episode_that_kills_itself.py"

KILLS = [
    ["1:train:0.15"],
    ["2:train:0.1", "0:reset:0", "2:generate:0", "3:save:0"],  # one of them during a resume
    ["2:load:0", "0:test:0"],
]

pytestmark = pytest.mark.slow


# Each episode has a process of its own, forked from one that has the heavy imports behind it.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(
    ["dataenvgym.agents", "dataenvgym.students.trainers.in_process", "peft"]
)


def run(agent: str, directory: Path, kill: str = "-1:none:0") -> int | None:
    """The exit code of an episode, negative where a signal ended it."""
    arguments = {"AGENT": agent, "DIRECTORY": directory, "KILL": kill}
    episode = context.Process(target=runpy.run_path, args=(str(SCRIPT), arguments, "__main__"))
    episode.start()
    episode.join(240)
    return episode.exitcode


@pytest.fixture(scope="module", params=["skill_list", "skill_tree"])
def undisturbed(request, tmp_path_factory):
    """The agent, and the files of a run that was left alone."""
    agent: str = request.param
    directory = tmp_path_factory.mktemp("undisturbed") / "run"
    assert run(agent, directory) == 0
    files = contents(directory)
    assert any(name.endswith("adapter_model.safetensors") for name in files)
    assert ("iterations/003/forest.json" in files) == (agent == "skill_tree")
    return agent, files


@pytest.mark.parametrize("kills", KILLS, ids=lambda kills: "+".join(kills))
def test_a_killed_run_ends_as_an_undisturbed_one(undisturbed, tmp_path, kills):
    agent, expected = undisturbed
    directory = tmp_path / "run"
    for kill in kills:
        assert run(agent, directory, kill) == -signal.SIGKILL
    assert run(agent, directory) == 0
    files = contents(directory)
    assert files.keys() == expected.keys()
    different = [name for name in files if files[name] != expected[name]]
    assert different == []


def test_two_undisturbed_runs_are_the_same(undisturbed, tmp_path):
    agent, expected = undisturbed
    assert run(agent, tmp_path / "run") == 0
    assert contents(tmp_path / "run") == expected
