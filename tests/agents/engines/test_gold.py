"""Gold records, the engine that gives them all, and the agent that gives none."""

import json

import numpy as np
import pytest

from dataenvgym.agents import GoldEngine
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.environments import RecordChecks
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import TaskInstance
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from dataenvgym.tasks.adapted_task import task_of


class Echo(Task):
    name = "echo"
    domain = MathDomain()

    def load(self, split):
        words = {"train": "bcd", "validation": "e", "test": "f"}[split]
        instances = [
            TaskInstance(id=w, task="echo", instruction=f"Say {w}.", answer=w, skill="letters")
            for w in words
        ]
        return [*instances, TaskInstance(id=f"{split}?", task="echo", instruction="Say nothing.")]


def generate(engine, seed=0):
    return engine.generate((), ScriptedPredictor(lambda c: ""), np.random.default_rng(seed))


def test_the_whole_train_split_comes_in_equal_parts_and_then_nothing_also_if_restored(caplog):
    task = PocketMathTask(n_train=50)
    engine = GoldEngine(task, parts=3)
    parts = []
    for _ in range(5):
        parts.append(generate(engine))
        restored = GoldEngine(task, parts=3)
        restored.load_state_dict(json.loads(json.dumps(engine.state_dict())))
        engine = restored
    assert [len(part) for part in parts] == [16, 17, 17, 0, 0]
    records = [record for part in parts for record in part]
    assert [(r.instruction, r.output, r.provenance.skill) for r in records] == [
        (i.instruction, f"#### {i.answer}", i.skill) for i in task.on("train").instances
    ]
    assert RecordChecks(task).check(records).reasons == {}
    assert not caplog.records


def test_a_task_without_splits_is_refused_before_anything_is_run():
    with pytest.raises(ConfigurationError, match="has no splits"):
        GoldEngine(task_of(object())).prepare()


def test_problems_without_a_gold_record_are_counted_in_a_warning(caplog):
    assert len(generate(GoldEngine(Echo()))) == 3
    (warning,) = [record.getMessage() for record in caplog.records]
    assert warning.startswith("1 of 4 training problems of task 'echo' are not taught: their gold")
