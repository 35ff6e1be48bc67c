"""Impossible options of agents, policies and engines are refused, with the name of the option."""

from functools import partial

import pytest

from dataenvgym.agents import (
    Agent,
    AlternatingPolicy,
    BranchedTriesEngine,
    ConfigurableTreePolicy,
    EdgePolicy,
    FillBalancedPolicy,
    GoldEngine,
    LLMEngine,
    NoEngine,
    NoPolicy,
    PocketEngine,
    PocketRewriter,
    PoolEngine,
    PreferenceEngine,
    RandomSelection,
    RandomTreePolicy,
    RetentionPolicy,
    ScoredTriesEngine,
    SeededEngine,
    SelfConsistencyEngine,
    SkillListPolicy,
    ThompsonPolicy,
    TreeAgent,
    UCBPolicy,
    UncertaintySelection,
)
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from tests.fakes import Teacher

TASK = PocketMathTask()
BANDIT = {"records_per_pull": [0], "discount": [0.0, 1.1], "prior": [1.0], "prior_weight": [0.0]}
IMPOSSIBLE = [
    (partial(Agent, NoPolicy(), NoEngine(), name="a"), {"records_per_iteration": [0]}),
    (partial(TreeAgent, AlternatingPolicy(), name="a"), {"records_per_iteration": [0]}),
    (UCBPolicy, {**BANDIT, "exploration": [-1]}),
    (ThompsonPolicy, {**BANDIT, "noise": [-1]}),
    (partial(EdgePolicy, TASK), {"samples": [0], "temperature": [0.0], "floor": [-1.0]}),
    (SkillListPolicy, {"floor": [-0.1], "sharpness": [-1], "skills": [0], "below": [0, 1.5]}),
    (SkillListPolicy, {"choose": ["most_comon"]}),
    (partial(RetentionPolicy, NoPolicy()), {"share": [1.1], "full_at": [0.0], "tolerance": [-0.1]}),
    (AlternatingPolicy, {"subskills": [0], "own": [1.5]}),
    (FillBalancedPolicy, {"cap": [0]}),
    (RandomTreePolicy, {"explore": [2.0]}),
    (ConfigurableTreePolicy, {"pattern": [["explroe"], []]}),
    (
        partial(LLMEngine, Teacher("")),
        {"batch_size": [0], "examples_per_request": [0], "attempts": [0], "max_length": [0]},
    ),
    (partial(GoldEngine, TASK), {"parts": [0]}),
    (partial(BranchedTriesEngine, TASK), {"samples": [1]}),
    (partial(PoolEngine, RandomSelection(), TASK), {"nearest": [0]}),
    (partial(UncertaintySelection, TASK), {"samples": [1], "temperature": [0.0], "breadth": [0]}),
    (partial(PreferenceEngine, PocketEngine(TASK), TASK), {"rounds": [0], "most_tries": [0]}),
    (partial(PocketRewriter, task=TASK), {"operands": ["sames"]}),
    (
        partial(SeededEngine, PocketRewriter(task=TASK), TASK),
        {"nearest": [0], "attempts": [0]},
    ),
    (
        partial(ScoredTriesEngine, TASK),
        {"discount": [2], "normalize": ["all"], "most_named": [0]},
    ),
    (
        partial(SelfConsistencyEngine, TASK),
        {"samples": [0], "tries": [0], "temperature": [0.0], "agreement": [0.0]},
    ),
    (partial(SelfConsistencyEngine, TASK, agreement=0.9), {"most_agreement": [0.8]}),
]


@pytest.mark.parametrize(("make", "options"), IMPOSSIBLE)
def test_an_impossible_option_is_refused_by_its_name(make, options):
    for name, values in options.items():
        for value in values:
            with pytest.raises(ConfigurationError, match=name):
                make(**{name: value})
