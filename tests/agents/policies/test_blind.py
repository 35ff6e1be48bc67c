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
from tests import fakes


def situation(right) -> Situation:
    """Twenty instances of two skills; `right(i)` is True, False or None for a failed call."""
    return fakes.situation(
        [
            fakes.tried(
                id=str(i), skill="ab"[i % 2], answer="1", right=right(i), said=f"{right(i)}"
            )
            for i in range(20)
        ]
    )


STUDENTS = [lambda i: True, lambda i: i % 2 == 0, lambda i: i > 3, lambda i: i > 3 or None]


@pytest.mark.parametrize("policy", [OpenEndedPolicy, SkillListPolicy])
def test_the_plan_does_not_depend_on_the_students_results(policy):
    def plans(policy):
        seen = (policy.plan(situation(r), 30, np.random.default_rng(0)) for r in STUDENTS)
        return [[(a.count, a.skill, a.examples) for a in plan] for plan in seen]

    first, *others = plans(BlindPolicy(policy()))
    assert others == [first] * 3
    _, some, most, _ = plans(policy())
    assert some != most


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


def test_it_has_the_needs_and_the_state_of_the_inner_policy():
    assert BlindPolicy(SkillListPolicy()).fit.needs_skills
    assert not BlindPolicy(OpenEndedPolicy()).fit.needs_skills
    bandit = BlindPolicy(UCBPolicy())
    bandit.plan(situation(STUDENTS[1]), 30, np.random.default_rng(0))
    restored = BlindPolicy(UCBPolicy())
    restored.load_state_dict(bandit.state_dict())
    assert restored.state_dict() == bandit.state_dict() != UCBPolicy().state_dict()
