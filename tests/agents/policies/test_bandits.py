"""Bandits over skills, on students whose learning curves are known."""

import json
from collections import Counter

import numpy as np
import pytest

from dataenvgym.agents import Situation, ThompsonPolicy, UCBPolicy
from tests import fakes
from tests.fakes import tried

BANDITS = [UCBPolicy, ThompsonPolicy]


def situation(accuracies: dict[str, float], n: int = 20) -> Situation:
    return fakes.situation(
        [
            tried(id=f"{s}-{i}", skill=s, right=i < round(a * n))
            for s, a in accuracies.items()
            for i in range(n)
        ]
    )


def counts_of(plan) -> dict[str, int]:
    return {a.skill: a.count for a in plan}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("bandit", BANDITS)
def test_the_plan_adds_up_to_the_records_asked_for(bandit):
    for count in (1, 14, 15, 100, 300):
        plan = bandit().plan(situation({"a": 0.2, "b": 0.4, "c": 0.9}), count, rng())
        assert sum(a.count for a in plan) == count


@pytest.mark.parametrize("bandit", BANDITS)
def test_of_two_equally_weak_skills_the_recently_improved_one_gets_more(bandit):
    learned = Counter()
    for seed in range(10):
        policy = bandit()
        before = {"accuracies": {"fast": 0.0, "slow": 0.5}, "planned": {"fast": 2.0, "slow": 4.0}}
        policy.load_state_dict({**policy.state_dict(), **before})
        plan = policy.plan(situation({"fast": 0.5, "slow": 0.5}), 60, rng(seed))
        learned.update(counts_of(plan))
    assert learned["fast"] > 1.3 * learned["slow"]


@pytest.mark.parametrize("bandit", BANDITS)
def test_a_skill_with_nothing_left_to_learn_gets_little(bandit):
    plan = bandit().plan(situation({"known": 1.0, "weak": 0.1, "other": 0.1}), 300, rng())
    counts = counts_of(plan)
    assert counts.get("known", 0) < 0.2 * min(counts["weak"], counts["other"])


def test_of_two_arms_with_the_same_mean_ucb_reckons_with_more_for_the_less_known():
    means, weights = np.array([0.3, 0.3]), np.array([1.0, 10.0])
    known, unknown = UCBPolicy(exploration=0.1).reckon(means, weights, rng())[::-1]
    assert 0.3 < known < unknown
    assert UCBPolicy(exploration=0.0).reckon(means, weights, rng()).tolist() == [0.3, 0.3]


def test_thompson_draws_vary_less_after_more_observations():
    means, weights = np.array([0.3, 0.3]), np.array([1.0, 16.0])
    policy, generator = ThompsonPolicy(noise=0.2), rng()
    draws = np.array([policy.reckon(means, weights, generator) for _ in range(2000)])
    assert draws.mean(axis=0) == pytest.approx([0.3, 0.3], abs=0.02)
    assert draws.std(axis=0) == pytest.approx([0.2, 0.05], rel=0.1)


def test_old_rewards_count_less_than_new_ones():
    means = {}
    for discount in (0.3, 1.0):
        policy = UCBPolicy(discount=discount)
        for accuracy in (0.1, 0.6, 0.6, 0.6):  # learned at once, then no more
            policy.plan(situation({"a": accuracy}), 15, rng())
        means[discount] = policy.mean_progress("a")
    assert 0 < means[0.3] < means[1.0]


def test_progress_is_the_share_of_the_errors_that_each_pull_removes():
    policy = UCBPolicy(records_per_pull=10, exploration=0.0)
    policy.plan(situation({"a": 0.0}), 20, rng())
    policy.plan(situation({"a": 0.75}), 20, rng())
    # two pulls that each halve the errors leave a quarter
    assert policy.mean_progress("a") == pytest.approx(0.5)


@pytest.mark.parametrize("bandit", BANDITS)
def test_a_restored_bandit_plans_as_the_other_would(bandit):
    policy = bandit()
    policy.plan(situation({"a": 0.2, "b": 0.2}), 60, rng())
    restored = bandit()
    restored.load_state_dict(json.loads(json.dumps(policy.state_dict())))
    later = situation({"a": 0.5, "b": 0.2})
    expected = counts_of(policy.plan(later, 300, rng(1)))
    assert counts_of(restored.plan(later, 300, rng(1))) == expected
    assert counts_of(bandit().plan(later, 300, rng(1))) != expected
