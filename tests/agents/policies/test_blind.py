"""The no-state ablation: the same policy, to which all instances look alike."""

import numpy as np
import pytest

from dataenvgym.agents import (
    BlindPolicy,
    EdgePolicy,
    OpenEndedPolicy,
    RetentionPolicy,
    Situation,
    SkillListPolicy,
    UCBPolicy,
)
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import SamplingParameters
from dataenvgym.predictors import ScriptedPredictor
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance


def situation(right) -> Situation:
    """Twenty instances of two skills; `right(i)` is True, False or None for a failed call."""
    completed = [
        CompletedTaskInstance(
            instance=TaskInstance(
                id=str(i), task="t", instruction=f"q{i}", skill="ab"[i % 2], answer="1"
            ),
            transcript=(Message(role="assistant", content=f"{right(i)}"),),
            reward=float(bool(right(i))),
            was_correct=bool(right(i)),
            error="timeout" if right(i) is None else None,
        )
        for i in range(20)
    ]
    return Situation(completed, (), ScriptedPredictor(lambda conversation: ""))


def shown(plan):
    return [(a.count, a.skill, a.examples) for a in plan]


STUDENTS = [lambda i: True, lambda i: i % 2 == 0, lambda i: i > 3, lambda i: None]


@pytest.mark.parametrize("policy", [OpenEndedPolicy, SkillListPolicy])
def test_the_plan_does_not_depend_on_the_students_results(policy):
    plans = [
        shown(BlindPolicy(policy()).plan(situation(right), 30, np.random.default_rng(0)))
        for right in STUDENTS
    ]
    assert all(plan == plans[0] for plan in plans)
    seeing = [
        shown(policy().plan(situation(right), 30, np.random.default_rng(0)))
        for right in STUDENTS[:3]
    ]
    assert seeing[1] != seeing[2]


def test_it_still_sees_problems_gold_answers_and_skills():
    (first, second) = BlindPolicy(SkillListPolicy()).plan(
        situation(STUDENTS[0]), 30, np.random.default_rng(0)
    )
    assert (first.skill, first.count, second.skill, second.count) == ("a", 15, "b", 15)
    assert len(first.examples) == 10
    assert {e.instance.answer for e in first.examples} == {"1"}
    assert all(e.response is None for e in first.examples)


def test_a_policy_that_lets_the_student_try_cannot_be_blind():
    edge = EdgePolicy(PocketMathTask())
    with pytest.raises(ConfigurationError, match="EdgePolicy does"):
        BlindPolicy(edge)
    with pytest.raises(ConfigurationError, match="RetentionPolicy does"):
        BlindPolicy(RetentionPolicy(edge))


def test_a_policy_that_asks_the_student_all_the_same_is_stopped():
    class Asking:
        def plan(self, situation, count, rng):
            situation.predictor.predict([()], SamplingParameters())

    with pytest.raises(ConfigurationError, match="may not let the student try"):
        BlindPolicy(Asking()).plan(situation(STUDENTS[0]), 3, np.random.default_rng(0))


def test_it_has_the_needs_and_the_state_of_the_inner_policy():
    assert BlindPolicy(SkillListPolicy()).fit.needs_skills
    assert not BlindPolicy(OpenEndedPolicy()).fit.needs_skills
    bandit = BlindPolicy(UCBPolicy())
    bandit.plan(situation(STUDENTS[1]), 30, np.random.default_rng(0))
    restored = BlindPolicy(UCBPolicy())
    restored.load_state_dict(bandit.state_dict())
    assert restored.state_dict() == bandit.state_dict() != UCBPolicy().state_dict()
