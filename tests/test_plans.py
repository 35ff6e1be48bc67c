"""What policies and engines say of themselves, and what counts where they say nothing."""

from __future__ import annotations

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
from dataenvgym.plans import EngineFit, PolicyFit, Told, engine_fit, policy_fit
from dataenvgym.tasks.math.pocket import PocketMathTask

TASK = PocketMathTask(n_train=20)


def test_what_says_nothing_of_itself_plans_with_examples_and_needs_a_skill():
    assert policy_fit(object()) == PolicyFit(tells="examples")
    assert engine_fit(object()) == EngineFit(needs="skills", writes=True)
    assert policy_fit(NoEngine()) == PolicyFit()  # its fit is that of an engine


def test_who_is_told_more_is_told_enough():
    for less, more in pairwise(get_args(Told)):
        assert EngineFit(needs=less).is_told_enough(PolicyFit(tells=more))
        assert EngineFit(needs=more).is_told_enough(PolicyFit(tells=more))
        assert not EngineFit(needs=more).is_told_enough(PolicyFit(tells=less))


@pytest.mark.parametrize("inner", [SkillListPolicy(), RandomPolicy(), FreePolicy()])
def test_a_policy_around_another_one_needs_what_that_needs(inner):
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
def test_preference_pairs_need_what_the_engine_of_their_problems_needs(engine, needs):
    assert engine_fit(PreferenceEngine(engine, TASK)) == EngineFit(needs=needs)


def test_an_engine_that_gave_all_it_has_writes_no_more():
    engine = GoldEngine(TASK, parts=1)
    assert engine.fit == EngineFit(needs="nothing")
    engine.load_state_dict({"given": 1})
    assert not engine.fit.writes
    assert not engine_fit(PreferenceEngine(NoEngine(), TASK)).writes
