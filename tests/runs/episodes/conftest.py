"""Episodes of the task, student and agent of `echo`."""

import pytest

from dataenvgym.environments import SkillList
from dataenvgym.runs.episodes import run_episode
from tests.runs.episodes.echo import EchoTask, Student, Writer


@pytest.fixture
def play():
    """Runs an episode in a directory, with fresh objects as after a restart."""

    def run(directory, *, iterations=3, agent=None, student=None, task=None, **options):
        names = ("seed", "callbacks", "test_task", "test_each", "progress", "lock")
        of_episode = {name: options.pop(name) for name in names if name in options}
        environment = SkillList(
            task or EchoTask(), student or Student(), directory=directory, replay=2, **options
        )
        return run_episode(environment, agent or Writer(), iterations=iterations, **of_episode)

    return run


@pytest.fixture
def finished_run(play, tmp_path):
    """The directory of a finished run of three iterations."""
    play(tmp_path / "run")
    return tmp_path / "run"
