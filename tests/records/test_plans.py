"""Declarations of policies and engines, and their defaults."""

from itertools import pairwise
from types import SimpleNamespace
from typing import get_args

import pytest

from dataenvgym.agents import (
    BlindPolicy,
    FreePolicy,
    GoldEngine,
    InfluenceSelection,
    NoEngine,
    PocketEngine,
    PoolEngine,
    PreferenceEngine,
    RandomPolicy,
    RandomSelection,
    RetentionPolicy,
    SkillListPolicy,
)
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.records.plans import EngineFit, PlanDetail, PolicyFit, engine_fit, policy_fit

TASK = PocketMathTask(n_train=20)


@pytest.mark.parametrize(
    ("fit", "shown"),
    [
        ({"tells": "counts"}, r"{'tells': 'counts'}"),
        (PolicyFit, "<class"),
        (lambda: PolicyFit(), "<function"),  # a property without its decorator
        (EngineFit(), "EngineFit"),
    ],
)
def test_a_fit_of_another_kind_is_refused_in_place_of_the_default(fit, shown):
    assert policy_fit(object()) == PolicyFit(tells="examples")
    assert engine_fit(object()) == EngineFit(needs="skills", writes=True)
    policy = SimpleNamespace(fit=fit)
    with pytest.raises(ConfigurationError, match=f"is {shown}.*PolicyFit"):
        policy_fit(policy)
    with pytest.raises(ConfigurationError, match="FreePolicy"):
        engine_fit(FreePolicy())


def test_unknown_parts_of_a_plan_are_refused_with_the_closest_word():
    with pytest.raises(ConfigurationError, match="mean 'examples'"):
        PolicyFit(tells="exmaples")
    with pytest.raises(ConfigurationError, match="mean 'counts'"):
        EngineFit(needs="count")


def test_more_details_of_a_plan_than_needed_are_enough():
    for less, more in pairwise(get_args(PlanDetail)):
        assert EngineFit(needs=less).is_satisfied_by(PolicyFit(tells=more))
        assert EngineFit(needs=more).is_satisfied_by(PolicyFit(tells=more))
        assert not EngineFit(needs=more).is_satisfied_by(PolicyFit(tells=less))


@pytest.mark.parametrize("inner", [SkillListPolicy(), RandomPolicy(), FreePolicy()])
def test_a_policy_around_another_one_has_the_same_needs(inner):
    assert BlindPolicy(RetentionPolicy(inner)).fit == inner.fit


@pytest.mark.parametrize(
    ("engine", "needs"),
    [
        (PocketEngine(TASK), "skills"),
        (PoolEngine(RandomSelection(), TASK), "counts"),
        (PoolEngine(InfluenceSelection(), TASK), "examples"),
        (GoldEngine(TASK), "counts"),  # which alone follows no plan
    ],
)
def test_preference_pairs_have_the_needs_of_the_engine_of_their_problems(engine, needs):
    assert engine_fit(PreferenceEngine(engine, TASK)) == EngineFit(needs=needs)


def test_an_engine_that_gave_all_it_has_writes_no_more():
    engine = GoldEngine(TASK, parts=1)
    assert engine.fit == EngineFit(needs="nothing")
    engine.load_state_dict({"given": 1})
    assert not engine.fit.writes
    assert not engine_fit(PreferenceEngine(NoEngine(), TASK)).writes
