"""Retention: forgotten skills get a share of the records."""

import json

import numpy as np

from dataenvgym.agents import (
    OpenEndedPolicy,
    RetentionPolicy,
    Situation,
    SkillListPolicy,
    UCBPolicy,
)
from tests import fakes


def situation(right: dict[str, int], *, skills: bool = True) -> Situation:
    """Ten instances of each skill, the first `right` of them correct."""
    return fakes.situation(
        [
            fakes.tried(id=f"{s}-{i}", skill=s if skills else None, right=i < n)
            for s, n in right.items()
            for i in range(10)
        ]
    )


class Fixed:
    """Plans everything for one skill."""

    def plan(self, situation, count, rng):
        new = [c for c in situation.completed if c.instance.skill == "new"]
        return SkillListPolicy().plan(fakes.situation(new), count, rng)


class Half(RetentionPolicy):
    full_at = 0.5


class Soon(RetentionPolicy):
    full_at = 0.1


def plan(policy, situation, count=100):
    return policy.plan(situation, count, np.random.default_rng(0))


def test_a_skill_below_its_best_gets_its_share():
    policy = Half(Fixed(), share=0.3)
    plan(policy, situation({"new": 2, "old": 9}))
    got = plan(policy, situation({"new": 2, "old": 4}))
    assert [(a.skill, a.count) for a in got] == [("new", 70), ("old", 30)]
    assert {e.instance.id for e in got[1].examples} == {f"old-{i}" for i in range(4, 10)}


def test_a_smaller_fall_gets_less_and_one_within_the_tolerance_nothing():
    def kept(now, tolerance=0.1):
        policy = RetentionPolicy(Fixed(), share=0.5, tolerance=tolerance)
        plan(policy, situation({"new": 2, "old": 9}))
        got = plan(policy, situation({"new": 2, "old": now}))
        return sum(a.count for a in got if a.skill == "old")

    assert [kept(now) for now in (9, 8, 7, 4)] == [0, 0, 10, 25]
    assert kept(8, tolerance=0.0) == 5


def test_the_best_is_remembered_over_several_iterations_and_a_restart():
    policy = Soon(UCBPolicy(), share=0.3)
    for old in (9, 7, 5):
        policy.plan(situation({"new": 2, "old": old}), 60, np.random.default_rng(0))
    restored = Soon(UCBPolicy(), share=0.3)
    restored.load_state_dict(json.loads(json.dumps(policy.state_dict())))
    assert restored.state_dict() == policy.state_dict()
    later = situation({"new": 4, "old": 8})
    plans = [
        [(a.skill, a.count) for a in p.plan(later, 60, np.random.default_rng(1))]
        for p in (policy, restored)
    ]
    assert plans[0] == plans[1]
    assert policy.state_dict()["best"] == {"new": 0.4, "old": 0.9}


def test_without_skills_the_instances_that_were_solved_once_are_the_examples():
    policy = Soon(OpenEndedPolicy(), share=0.5)
    plan(policy, situation({"a": 4}, skills=False))
    got = plan(policy, situation({"a": 2}, skills=False), 40)
    kept = [a for a in got if a.examples[0].instance.id in ("a-2", "a-3")]
    assert sum(a.count for a in got) == 40
    # 20 for the two forgotten ones, and 20 over the eight errors in turns
    assert 20 + 4 <= sum(a.count for a in kept) <= 20 + 6
