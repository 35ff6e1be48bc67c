"""Household tasks: drawn from a seed, solvable, and solved by a policy that searches."""

from itertools import combinations

import numpy as np
import pytest

from dataenvgym.domains.textworld.house import TASK_TYPES
from dataenvgym.domains.textworld.household import HouseProblem, draw
from dataenvgym.domains.textworld.task import TextworldHouseTask
from dataenvgym.tasks.source import SPLITS
from tests.domains.textworld.test_house import KITCHEN


def problem(type="pick", object="apple", target="desk", phrasing=0, **house):
    goal = {"type": type, "object": object, "target": target, "phrasing": phrasing}
    return HouseProblem.model_validate({"house": {**KITCHEN, **house}, "goal": goal})


def rewards(problem, steps):
    world = problem.world()
    return [world.act(step.action) for step in steps]


@pytest.mark.parametrize("type", TASK_TYPES)
def test_the_reference_solves_each_type_with_its_last_step(type):
    rng = np.random.default_rng(0)
    for _ in range(20):
        data = draw(type, "train", rng)[1]()["data"]
        found = HouseProblem.model_validate(data)
        assert found.fault() is None
        seen = rewards(found, found.solution())
        assert all(each.is_valid for each in seen)
        assert [each.done for each in seen] == [False] * (len(seen) - 1) + [True]
        assert len(seen) <= 40


def test_the_reference_finds_an_object_only_by_looking():
    steps = [step.action for step in problem("pick", "book").solution()]
    assert steps.index("take book 1 from countertop 1") > steps.index("go to countertop 1")
    # the desk is where books usually are, and this one is not
    assert steps[0] == "go to desk 1"


def test_the_reference_empties_its_hand_and_uses_what_it_holds():
    things = {**KITCHEN["things"], "book 1": {}}
    assert rewards(p := problem(things=things), p.solution())[-1].done
    things = {**KITCHEN["things"], "apple 1": {}}
    steps = [s.action for s in problem(things=things, at="countertop 1").solution()]
    assert steps == ["go to desk 1", "put apple 1 in/on desk 1"]


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        (("pick", "egg", "desk"), "needs 1 egg that can be taken, and has 0"),
        (("pick_two", "book", "desk"), "needs 2 book that can be taken, and has 1"),
        (("pick", "desklamp", "desk"), "desklamp that can be taken"),
        (("pick", "apple", "bed"), "there is no bed"),
        (("look", "book", "floorlamp"), "there is no floorlamp"),
        (("look", "book", "desk"), "there is no desk"),
        (("heat", "book", "desk"), "a book cannot be heated"),
        (("pick", "book", "countertop"), "met at the start"),
    ],
)
def test_a_task_that_is_unsolvable_as_stated_is_named(goal, reason):
    assert reason in (problem(*goal).fault() or "")
    places = {name: {} for name in KITCHEN["places"] if name != "microwave 1"}
    assert problem("heat", places=places).fault() == "there is no microwave to heat it with"


def test_the_same_seed_gives_the_same_houses_and_another_seed_others():
    one, same, other = (
        TextworldHouseTask(n_train=12, seed=seed).on("train").instances for seed in (1, 1, 2)
    )
    assert one == same
    assert {i.instruction for i in one} != {i.instruction for i in other}


def test_the_types_have_equal_shares_and_no_two_splits_share_an_object_with_its_target():
    task = TextworldHouseTask()
    skills = [instance.skill for instance in task.on("train").instances]
    assert {skills.count(type) for type in TASK_TYPES} == {20}
    goals = [[i.data["goal"] for i in task.on(split).instances] for split in SPLITS]
    pairs = [{(goal["object"], goal["target"]) for goal in of_split} for of_split in goals]
    assert not any(one & other for one, other in combinations(pairs, 2))
