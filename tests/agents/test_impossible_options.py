"""Impossible options of agents, policies and engines are refused where a configuration is built."""

from functools import partial

import pytest
from pydantic import ValidationError

from dataenvgym import agents
from dataenvgym.agents.quality import AlreadyKnownCheck, WrongAnswerCheck
from dataenvgym.agents.skills import ClusteredSkills, DiscoveredSkills
from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.instantiation import check_arguments

BANDIT = {"records_per_pull": [0], "discount": [0.0, 1.1]}
IMPOSSIBLE = [
    (agents.Agent, {"records_per_iteration": [0]}),
    (agents.UCBPolicy, {**BANDIT, "exploration": [-1]}),
    (agents.ThompsonPolicy, {**BANDIT, "noise": [-1]}),
    (agents.EdgePolicy, {"samples": [0], "temperature": [0.0], "floor": [-1.0]}),
    (agents.OpenEndedPolicy, {"together": [0], "per_error": [0]}),
    (agents.SkillListPolicy, {"floor": [-0.1], "sharpness": [-1], "skills": [0], "below": [0, 2]}),
    (agents.SkillListPolicy, {"choose": ["most_comon"]}),
    (agents.RetentionPolicy, {"share": [1.1], "tolerance": [-0.1]}),
    (agents.AlternatingPolicy, {"subskills": [0], "own": [1.5], "widen": [-1]}),
    (agents.FillBalancedPolicy, {"cap": [0], "maximum": [-1]}),
    (agents.RandomTreePolicy, {"explore": [2.0], "active": [0]}),
    (agents.ThresholdPolicy, {"more": [-1], "subskills": [0]}),
    (agents.ConfigurableTreePolicy, {"pattern": [["explroe"], []]}),
    (agents.LLMEngine, {"batch_size": [0], "examples_per_request": [0], "max_length": [0]}),
    (agents.BranchedTriesEngine, {"samples": [1]}),
    (agents.SegmentPairsEngine, {"samples": [1], "most_negatives": [0], "segment": [0, "tale"]}),
    (agents.UncertaintySelection, {"samples": [1], "temperature": [0.0]}),
    (agents.GradientSelection, {"warmup": [0, 2], "epochs": [0]}),
    (agents.PreferenceEngine, {"rounds": [0], "most_tries": [0]}),
    (agents.PocketRewriter, {"operands": ["sames"]}),
    (agents.SeededEngine, {"nearest": [0], "attempts": [0]}),
    (agents.ScoredTriesEngine, {"discount": [2], "normalize": ["all"]}),
    (agents.SelfConsistencyEngine, {"samples": [0], "tries": [0], "temperature": [0.0]}),
    (agents.SelfConsistencyEngine, {"agreement": [0.0]}),
    (AlreadyKnownCheck, {"samples": [-1], "share": [0.0, 2], "temperature": [0]}),
    (ClusteredSkills, {"clusters": [0], "categories": [0], "splits": [["test"], []]}),
    (DiscoveredSkills, {"skills": [0], "batch_size": [0], "attempts": [0], "splits": [["test"]]}),
]


@pytest.mark.parametrize(("kind", "options"), IMPOSSIBLE)
def test_an_impossible_option_is_refused_by_its_key(kind, options):
    for name, values in options.items():
        for value in values:
            with pytest.raises(ConfigurationError, match=f"agent.{name}"):
                check_arguments(kind, {name: value}, "agent")


def test_options_of_checks_and_of_majorities_that_cannot_be_are_refused_when_they_are_made():
    task = PocketMathTask()
    for make, options in (
        (agents.SkillListPolicy, {"per_skill": 1, "per_error": 1}),
        (agents.AlternatingPolicy, {"most_per_skill": 5}),
        (partial(agents.ScoredTriesEngine, task), {"normalize": "deviation"}),
    ):
        with pytest.raises(ConfigurationError, match=next(iter(options))):
            make(**options)
    for options in ({"temperature": -1.0}, {"max_tokens": 0}):
        with pytest.raises(ValidationError, match=next(iter(options))):
            WrongAnswerCheck(task, **options)
