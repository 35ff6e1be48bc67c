"""Evaluations and episodes in worlds of text, killed before each file appears, and resumed."""

import sys
from zlib import crc32

import pytest

from dataenvgym.agents import Agent, PocketEngine, SkillListPolicy
from dataenvgym.domains.textworld.pocket import PocketTextworldTask
from dataenvgym.domains.textworld.task import TextworldHouseTask
from dataenvgym.environments import SkillList
from dataenvgym.runs.episodes import run_episode
from dataenvgym.runs.evaluation import run_evaluation
from dataenvgym.students.predictors import ScriptedPredictor
from tests.run_contents import contents
from tests.runs.episodes.conftest import files  # noqa: F401
from tests.runs.episodes.echo import Killed

SIZES = {"n_train": 12, "n_validation": 12, "n_test": 6}


class Player(ScriptedPredictor):
    """Plays a share of the problems by the reference, which grows with its records."""

    def __init__(self, task=None):
        super().__init__(self.reply)
        task = task or TextworldHouseTask(**SIZES)
        self.gold = {
            task.domain.prompt(instance)[-1].content: [*task.domain.gold_replies(instance)]
            for split in ("train", "validation", "test")
            for instance in task.on(split).instances
        }

    def reply(self, conversation):
        question = next(m.content for m in conversation if m.role == "user")
        turn = sum(message.role == "assistant" for message in conversation)
        knows = crc32(question.encode()) % 100 < 50 + self.records
        return self.gold[question][turn] if knows else f"Action: look {turn % 2}"


@pytest.mark.slow
def test_a_killed_episode_ends_as_an_undisturbed_one(tmp_path, files):  # noqa: F811
    def play(directory):
        task = PocketTextworldTask(**SIZES)
        environment = SkillList(task, Player(task), directory=directory)
        agent = Agent(SkillListPolicy(), PocketEngine(task), name="a", records_per_iteration=12)
        return run_episode(environment, agent, iterations=2)

    summary = play(tmp_path / "run")
    expected = contents(tmp_path / "run")
    assert 0 < summary.iterations[0].val_score < summary.best.val_score
    runs = [*files.killed(play, tmp_path)]
    assert len(runs) > 20
    assert all(contents(run) == expected for run in runs)


def test_a_killed_evaluation_ends_as_an_undisturbed_one(tmp_path, files, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "house_players", sys.modules[__name__])
    sizes = [f"task.{name}={value}" for name, value in SIZES.items()]
    overrides = ["task=textworld_house", "predictor=house_players.Player", *sizes, "chunk=6"]

    def evaluate(name):
        return run_evaluation([*overrides, f"evaluations_dir={tmp_path}", f"name={name}"])

    whole = evaluate("whole")
    expected = contents(tmp_path / "whole")
    assert 0 < whole.report.accuracy < 1
    assert len([name for name in expected if name.startswith("samples/")]) == 2
    for survived in range(len(files.seen)):
        files.left = survived
        with pytest.raises(Killed):
            evaluate(f"killed-{survived}")
        files.left = 10**6
        assert evaluate(f"killed-{survived}").results == whole.results
        assert contents(tmp_path / f"killed-{survived}") == expected
