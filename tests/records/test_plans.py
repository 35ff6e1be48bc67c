"""Declarations of policies and engines, and their defaults."""

from itertools import pairwise
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
from dataenvgym.records.plans import EngineFit, PlanDetail, PolicyFit, engine_fit

TASK = PocketMathTask(n_train=20)


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
