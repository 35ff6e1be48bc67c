"""Results that a changed class would not have made are not shown without a word."""

import os
from pathlib import Path

import pytest

OWN = """
from dataenvgym.students.predictors import ScriptedPredictor


class MyAgent:
    def __call__(self, completed, predictor):
        return []

    def step(self):
        pass


def make_student():
    return ScriptedPredictor(lambda conversation: "#### 3")
"""
SMALL = ("task.n_train=60", "task.n_validation=20", "task.n_test=20")
COMMANDS = {
    "run": ("run", "agent=mine.my_own.MyAgent", "student=simulated", "episode.iterations=1"),
    "study": (
        *("study", "agent=random,my_own.MyAgent", "seed=0", "student=simulated", "--no-bounds"),
        *("episode.iterations=1", "environment.max_records=20", "executor=in_process"),
    ),
    "eval": ("eval", "task=pocket_math", "predictor=my_own.make_student"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_changed_class_of_ones_own_is_named(command, dataenvgym, folder):
    own = Path("mine/my_own.py" if command == "run" else "my_own.py")
    own.parent.mkdir(exist_ok=True)
    own.write_text(OWN)
    line = (*COMMANDS[command], *SMALL)
    assert "has changed" not in dataenvgym.succeeds(*line).out
    assert "has changed" not in dataenvgym.succeeds(*line).out
    later = own.stat().st_mtime + 1000
    os.utime(own, (later, later))
    assert "my_own.py has changed" in dataenvgym.succeeds(*line).out
