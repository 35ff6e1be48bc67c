"""Difficulty at the edge of ability, with students whose solve rates are known."""

from __future__ import annotations

import numpy as np
import pytest

from dataenvgym.agents import EdgePolicy, Situation
from dataenvgym.agents.policies.edge import value_of
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, Reply
from dataenvgym.records import CompletedTaskInstance
from dataenvgym.tasks.math.pocket import PocketMathTask

TASK = PocketMathTask(n_validation=60)


class Sometimes:
    """Solves each instance with the probability of its skill, anew in every sample."""

    def __init__(self, rates, default=0.0, failing=()):
        self.gold = {i.instruction: i for i in TASK.instances}
        self.rates = rates
        self.default = default
        self.failing = failing
        self.temperatures = set()
        self.calls = 0

    def predict(self, conversations, sampling):
        self.temperatures.add(sampling.temperature)
        self.calls += len(conversations)
        rng = np.random.default_rng(sampling.seed)
        return [self._answer(self.gold[c[-1].content], rng.random()) for c in conversations]

    def _answer(self, instance, chance):
        if instance.skill in self.failing:
            return Failure(reason="away")
        right = chance < self.rates.get(instance.skill, self.default)
        return Reply(text=f"#### {instance.answer}" if right else "no idea")


def situation(predictor, skills=True) -> Situation:
    completed = [
        CompletedTaskInstance(
            instance=i if skills else i.model_copy(update={"skill": None}),
            transcript=(),
            reward=0.0,
            was_correct=False,
        )
        for i in TASK.instances
    ]
    return Situation(completed, (), predictor)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_value_is_highest_where_half_of_the_tries_succeed():
    assert value_of(np.array([0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [0, 0.75, 1, 0.75, 0]


def test_a_skill_solved_sometimes_gets_more_than_one_solved_always_or_never():
    student = Sometimes({"sum": 0.5, "largest": 1.0})
    plan = EdgePolicy(TASK, samples=16).plan(situation(student), 200, rng())
    counts = {a.skill: a.count for a in plan}
    assert sum(counts.values()) == 200
    assert counts["sum"] > 5 * counts["largest"]
    assert counts["largest"] == pytest.approx(counts["total"], abs=1)
    assert student.calls == 16 * len(TASK.instances)


def test_tries_are_sampled_at_the_temperature():
    student = Sometimes({})
    EdgePolicy(TASK, temperature=0.3).plan(situation(student), 10, rng())
    assert student.temperatures == {0.3}


def test_without_skills_each_instance_stands_for_itself():
    student = Sometimes({"sum": 0.5}, default=1.0)
    plan = EdgePolicy(TASK, samples=8, floor=0.0).plan(situation(student, skills=False), 30, rng())
    assert {a.skill for a in plan} == {None}
    ids = {a.examples[0].instance.id for a in plan}
    assert ids <= {i.id for i in TASK.instances if i.skill == "sum"}
    assert sum(a.count for a in plan) == 30


def test_the_examples_of_a_skill_are_those_at_the_edge():
    class OneOfThree(Sometimes):
        """Solves the first instance of each skill half of the time, and never another."""

        def _answer(self, instance, chance):
            first = next(i for i in TASK.instances if i.skill == instance.skill)
            right = instance == first and chance < 0.5
            return Reply(text=f"#### {instance.answer}" if right else "no idea")

    plan = EdgePolicy(TASK, samples=16).plan(situation(OneOfThree({})), 40, rng())
    for assignment in plan:
        first = next(i for i in TASK.instances if i.skill == assignment.skill)
        assert [e.instance for e in assignment.examples] == [first]


def test_an_instance_whose_calls_all_fail_is_neither_solved_nor_unsolved():
    student = Sometimes({}, default=1.0, failing=("sum",))
    rates = EdgePolicy(TASK, samples=2, temperature=1.0).solve_rates(TASK.instances, student, rng())
    failed = np.array([i.skill == "sum" for i in TASK.instances])
    assert np.isnan(rates[failed]).all()
    assert (rates[~failed] == 1.0).all()
    plan = EdgePolicy(TASK, floor=0.1).plan(situation(student), 190, rng())
    assert "sum" not in {a.skill for a in plan}


def test_the_same_generator_measures_the_same():
    rates = [
        EdgePolicy(TASK, samples=3, temperature=1.0).solve_rates(
            TASK.instances, Sometimes({}, default=0.5), rng(seed)
        )
        for seed in (1, 1, 2)
    ]
    assert (rates[0] == rates[1]).all()
    assert (rates[0] != rates[2]).any()


@pytest.mark.parametrize("options", [{"samples": 0}, {"temperature": 0.0}, {"floor": -1.0}])
def test_impossible_options_are_refused(options):
    with pytest.raises(ConfigurationError, match=str(next(iter(options)))):
        EdgePolicy(TASK, **options)


def test_a_task_without_environments_is_refused():
    with pytest.raises(ConfigurationError, match="make_environment"):
        EdgePolicy(object())
