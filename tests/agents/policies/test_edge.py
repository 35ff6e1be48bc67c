"""Difficulty at the edge of ability, with students whose solve rates are known."""

import numpy as np
import pytest

from dataenvgym.agents import EdgePolicy, Situation
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.tasks.adapted_task import task_of
from tests import fakes
from tests.fakes import Wavering

TASK = PocketMathTask(n_validation=60)


def sometimes(rates, default=0.0, failing=()):
    """Solves each instance with the probability of its skill, anew in every sample."""
    gold = {i.instruction: (i.skill, i.answer) for i in TASK.instances}
    return Wavering(gold.get, rates, default, failing)


def situation(predictor, skills=True) -> Situation:
    instances = (i if skills else i.model_copy(update={"skill": None}) for i in TASK.instances)
    return fakes.situation([fakes.tried(i) for i in instances], predictor=predictor)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_skill_solved_sometimes_gets_more_than_one_solved_always_or_never():
    student = sometimes({"sum": 0.5, "largest": 1.0})
    plan = EdgePolicy(TASK, samples=16, temperature=0.3).plan(situation(student), 200, rng())
    assert {sampling.temperature for sampling in student.samplings} == {0.3}
    counts = {a.skill: a.count for a in plan}
    assert sum(counts.values()) == 200
    assert counts["sum"] > 5 * counts["largest"]
    assert counts["largest"] == pytest.approx(counts["total"], abs=1)
    assert len(student.asked) == 16 * len(TASK.instances)


def test_without_skills_each_instance_is_its_own_group():
    student = sometimes({"sum": 0.5}, default=1.0)
    plan = EdgePolicy(TASK, samples=8, floor=0.0).plan(situation(student, skills=False), 30, rng())
    assert {a.skill for a in plan} == {None}
    ids = {a.examples[0].instance.id for a in plan}
    assert ids <= {i.id for i in TASK.instances if i.skill == "sum"}
    assert sum(a.count for a in plan) == 30


def test_the_examples_of_a_skill_are_those_at_the_edge():
    """The student solves the first instance of each skill half of the time, and never another."""
    firsts = {i.skill: i for i in reversed(TASK.instances)}
    gold = {i.instruction: (i is firsts[i.skill], i.answer) for i in TASK.instances}
    student = Wavering(gold.get, {True: 0.5})
    plan = EdgePolicy(TASK, samples=16).plan(situation(student), 40, rng())
    for assignment in plan:
        assert [e.instance for e in assignment.examples] == [firsts[assignment.skill]]


def test_an_instance_whose_calls_all_fail_is_neither_solved_nor_unsolved():
    student = sometimes({}, default=1.0, failing=("sum",))
    rates = EdgePolicy(TASK, samples=2, temperature=1.0).solve_rates(TASK.instances, student, rng())
    failed = np.array([i.skill == "sum" for i in TASK.instances])
    assert np.isnan(rates[failed]).all()
    assert (rates[~failed] == 1.0).all()
    plan = EdgePolicy(TASK, floor=0.1).plan(situation(student), 190, rng())
    assert "sum" not in {a.skill for a in plan}


def test_a_task_without_environments_is_refused():
    with pytest.raises(ConfigurationError, match="make_environment"):
        EdgePolicy(task_of(object()))
