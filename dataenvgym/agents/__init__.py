"""Data-generation agents: policies, engines, and the agent that joins one of each.

agent          `Agent`: a policy and an engine
policies/      plan how many records of which kind: plain, bandits, retention, edge of ability
engines/       write the records of a plan: by rules, a teacher (llm/), a pool, the student itself
  code/        engines of the code domain
tree/          the agent of `SkillTree-v0` and its policies
nothing        the lower bound of a study: a policy and an engine that do nothing

`dataenvgym.records.plans` defines the plans that a policy gives to an engine.

The names below are imported at first use: a run loads only the parts of its own agent.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.agents.agent import Agent, TreeAgent
    from dataenvgym.agents.baselines import BlindPolicy, NoEngine, NoPolicy
    from dataenvgym.agents.engines.branched_tries import BranchedTriesEngine
    from dataenvgym.agents.engines.gold import GoldEngine
    from dataenvgym.agents.engines.llm.engine import LLMEngine
    from dataenvgym.agents.engines.measured_selections import (
        DiverseSelection,
        GradientSelection,
        LossDifferenceSelection,
        LossSelection,
    )
    from dataenvgym.agents.engines.pocket import PocketEngine
    from dataenvgym.agents.engines.pool_engine import (
        InfluenceSelection,
        PoolEngine,
        RandomSelection,
        Selection,
        UncertaintySelection,
    )
    from dataenvgym.agents.engines.preference import PreferenceEngine
    from dataenvgym.agents.engines.scored_tries import ScoredTriesEngine
    from dataenvgym.agents.engines.seeded import (
        PocketRewriter,
        Rewriter,
        SeededEngine,
        TeacherRewriter,
    )
    from dataenvgym.agents.engines.segment_pairs import SegmentPairsEngine
    from dataenvgym.agents.engines.self_teaching import (
        ContrastEngine,
        RejectionSamplingEngine,
        SelfConsistencyEngine,
    )
    from dataenvgym.agents.policies.bandits import BanditPolicy, ThompsonPolicy, UCBPolicy
    from dataenvgym.agents.policies.edge import EdgePolicy
    from dataenvgym.agents.policies.plain import (
        FreePolicy,
        OpenEndedPolicy,
        RandomPolicy,
        SkillListPolicy,
    )
    from dataenvgym.agents.policies.retention import RetentionPolicy
    from dataenvgym.agents.tree.llm_policy import LLMTreePolicy
    from dataenvgym.agents.tree.policies import (
        AlternatingPolicy,
        ConfigurableTreePolicy,
        FillBalancedPolicy,
        RandomTreePolicy,
        ThresholdPolicy,
    )
    from dataenvgym.agents.tree.situation import TreePolicy, TreeSituation, TreeStep
    from dataenvgym.records.plans import Assignment, Engine, Plan, Policy, Situation
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "Agent",
    "AlternatingPolicy",
    "Assignment",
    "BanditPolicy",
    "BlindPolicy",
    "BranchedTriesEngine",
    "ConfigurableTreePolicy",
    "ContrastEngine",
    "DiverseSelection",
    "EdgePolicy",
    "Engine",
    "FillBalancedPolicy",
    "FreePolicy",
    "GoldEngine",
    "GradientSelection",
    "InfluenceSelection",
    "LLMEngine",
    "LLMTreePolicy",
    "LossDifferenceSelection",
    "LossSelection",
    "NoEngine",
    "NoPolicy",
    "OpenEndedPolicy",
    "Plan",
    "PocketEngine",
    "PocketRewriter",
    "Policy",
    "PoolEngine",
    "PreferenceEngine",
    "RandomPolicy",
    "RandomSelection",
    "RandomTreePolicy",
    "RejectionSamplingEngine",
    "RetentionPolicy",
    "Rewriter",
    "ScoredTriesEngine",
    "SeededEngine",
    "SegmentPairsEngine",
    "Selection",
    "SelfConsistencyEngine",
    "Situation",
    "SkillListPolicy",
    "TeacherRewriter",
    "ThompsonPolicy",
    "ThresholdPolicy",
    "TreeAgent",
    "TreePolicy",
    "TreeSituation",
    "TreeStep",
    "UCBPolicy",
    "UncertaintySelection",
]
