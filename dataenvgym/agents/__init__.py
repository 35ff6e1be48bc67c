"""Data-generation agents: policies, engines, and the agent that joins one of each.

agent          `Agent`: a policy and an engine
policies/      plan how many records of which kind: plain, bandits, retention, edge of ability
engines/       write the records of a plan: by rules, a teacher (llm/), a pool, the student itself
  code/        engines of the code domain
tree/          the agent of `SkillTree-v0` and its policies
nothing        the lower bound of a study: a policy and an engine that do nothing

`dataenvgym.records.plans` defines the plans that a policy gives to an engine.

The names below are imported at first use: a run loads only the parts of its own agent. A type
checker knows them in their modules.
"""

from dataenvgym.registration import names_in

__getattr__ = names_in(
    __name__,
    {
        "agent": "Agent TreeAgent",
        "baselines": "BlindPolicy NoEngine NoPolicy",
        "engines.branched_tries": "BranchedTriesEngine",
        "engines.gold": "GoldEngine",
        "engines.llm.engine": "LLMEngine",
        "engines.measured_selections": "DiverseSelection GradientSelection LossDifferenceSelection "
        "LossSelection",
        "engines.pocket": "PocketEngine",
        "engines.pool_engine": "InfluenceSelection PoolEngine RandomSelection Selection "
        "UncertaintySelection",
        "engines.preference": "PreferenceEngine",
        "engines.scored_tries": "ScoredTriesEngine",
        "engines.seeded": "PocketRewriter Rewriter SeededEngine TeacherRewriter",
        "engines.segment_pairs": "SegmentPairsEngine",
        "engines.self_teaching": "ContrastEngine RejectionSamplingEngine SelfConsistencyEngine",
        "policies.bandits": "BanditPolicy ThompsonPolicy UCBPolicy",
        "policies.edge": "EdgePolicy",
        "policies.plain": "FreePolicy OpenEndedPolicy RandomPolicy SkillListPolicy",
        "policies.retention": "RetentionPolicy",
        "tree.llm_policy": "LLMTreePolicy",
        "tree.policies": "AlternatingPolicy ConfigurableTreePolicy FillBalancedPolicy "
        "RandomTreePolicy ThresholdPolicy",
        "tree.situation": "TreePolicy TreeSituation TreeStep",
        ".records.plans": "Assignment Engine Plan Policy Situation",
    },
)
