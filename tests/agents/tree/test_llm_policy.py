import json

import numpy as np
import pytest

from dataenvgym.agents import FillBalancedPolicy, LLMTreePolicy, TreeSituation, TreeStep
from dataenvgym.environments.skill_tree import Exploit, Explore, Forest, Subskill, Tree
from dataenvgym.errors import BudgetSpentError, ConfigurationError
from dataenvgym.interfaces import Failure
from tests.fakes import Teacher

FOREST = Forest(
    trees=(
        Tree(skill="sum", val_accuracy=0.5, subskills=(Subskill(name="big", allocation=4),)),
        Tree(skill="length"),
    )
)
EXPLORE = json.dumps({"action": "explore", "subskills": 2, "records": 3})
EXPLOIT = json.dumps({"action": "exploit", "changes": {"big": 2}})


def act(policy: LLMTreePolicy, iteration: int = 1, count: int = 100, history=()):
    situation = TreeSituation(FOREST, iteration, history=history)
    return policy.act(situation, count, np.random.default_rng(0))


def test_the_teacher_decides_on_each_skill():
    teacher = Teacher(EXPLOIT, EXPLORE)
    assert act(LLMTreePolicy(teacher)) == (
        Exploit(skill="sum", changes={"big": 2}),
        Explore(skill="length", subskills=2, records_each=3),
    )
    assert "sum: accuracy 50%" in teacher.asked[0]
    assert "You can spend 50 records" in teacher.asked[0]
    assert teacher.purposes == {"actions"}


@pytest.mark.parametrize(
    ("answer", "malformed"),
    [
        ("I would rather not.", 1),
        (json.dumps({"action": "explore", "subskills": 0, "records": 3}), 1),
        (json.dumps({"action": "prune"}), 1),
        (json.dumps({"action": "exploit", "changes": {"small": 1}}), 1),  # no such subskill
        (json.dumps({"action": "exploit", "changes": {"big": "more"}}), 1),
        (Failure(reason="HTTP 500"), 0),
    ],
)
def test_an_answer_that_cannot_be_used_is_counted_and_left_to_the_fallback(answer, malformed):
    teacher = Teacher(answer, EXPLORE)
    fallback = FillBalancedPolicy(maximum=10, cap=7)
    policy = LLMTreePolicy(teacher, fallback=fallback)
    action = act(policy)
    assert action[0] == Exploit(skill="sum", changes={"big": 3})
    assert action[1] == Explore(skill="length", subskills=2, records_each=3)
    assert (policy.n_fallbacks, teacher.malformed) == (1, malformed)


def test_the_prompt_contains_earlier_actions_with_their_rewards(monkeypatch):
    steps = (
        TreeStep(
            iteration=1,
            action=(Exploit(skill="sum", changes={"big": 2}),),
            accuracies={"sum": 0.5},
            rewards={"sum": -0.04},
        ),
        TreeStep(
            iteration=2,
            action=(
                Explore(skill="sum", subskills=2, records_each=3),
                Explore(skill="length", subskills=4, records_each=1),
            ),
            accuracies={"sum": 0.46, "length": None},
            rewards={"sum": 0.25, "length": None},
        ),
    )
    teacher = Teacher(EXPLOIT, EXPLORE)
    act(LLMTreePolicy(teacher), iteration=3, history=steps)
    assert (
        "Iteration 1, accuracy 50% before: exploited: big +2; reward -4 points" in teacher.asked[0]
    )
    last = "Iteration 2, accuracy 46% before: explored 2 subskills with 3 records each; reward +25"
    assert last in teacher.asked[0]
    assert "unknown before: explored 4 subskills with 1 records each\n" in teacher.asked[1]
    assert "Iteration 1" not in teacher.asked[1]
    assert "more than 30 records in one action" in teacher.asked[0]
    teacher = Teacher(EXPLOIT, EXPLORE)
    monkeypatch.setattr(LLMTreePolicy, "remembered", 1)
    act(LLMTreePolicy(teacher), iteration=3, history=steps)
    assert last in teacher.asked[0]
    assert "Iteration 1" not in teacher.asked[0]


def test_a_teacher_that_wants_more_than_there_is_is_cut():
    teacher = Teacher(EXPLOIT, json.dumps({"action": "explore", "subskills": 5, "records": 1000}))
    action = act(LLMTreePolicy(teacher), count=20)
    assert sum(m.subskills * m.records_each for m in action if isinstance(m, Explore)) <= 20


def test_a_spent_budget_and_a_prompt_without_the_tree_are_refused():
    with pytest.raises(BudgetSpentError):
        act(LLMTreePolicy(Teacher("?", budget=0)))
    with pytest.raises(ConfigurationError, match="tree"):
        LLMTreePolicy(Teacher("?"), {"user": "What about {skill}?"})
