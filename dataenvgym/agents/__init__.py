"""Data-generation agents: policies, engines, and the agent that joins one of each."""

from dataenvgym.agents.agent import Agent
from dataenvgym.agents.bandits import BanditPolicy, ThompsonPolicy, UCBPolicy
from dataenvgym.agents.blind import BlindPolicy
from dataenvgym.agents.edge import EdgePolicy
from dataenvgym.agents.execution_engine import ExecutionEngine
from dataenvgym.agents.execution_preferences import ExecutionPreferenceEngine
from dataenvgym.agents.gold_engine import GoldEngine
from dataenvgym.agents.llm_engine import LLMEngine
from dataenvgym.agents.llm_tree_policy import LLMTreePolicy
from dataenvgym.agents.nothing import NoEngine, NoPolicy
from dataenvgym.agents.plans import Assignment, Engine, Plan, Policy, Situation
from dataenvgym.agents.pocket_engine import PocketEngine
from dataenvgym.agents.policies import (
    FreePolicy,
    OpenEndedPolicy,
    RandomPolicy,
    SkillListPolicy,
)
from dataenvgym.agents.pool_engine import PoolEngine
from dataenvgym.agents.preference_engine import PreferenceEngine
from dataenvgym.agents.rejection_sampling import RejectionSamplingEngine
from dataenvgym.agents.retention import RetentionPolicy
from dataenvgym.agents.rewriters import PocketRewriter, Rewriter
from dataenvgym.agents.seeded_engine import SeededEngine
from dataenvgym.agents.selections import (
    InfluenceSelection,
    RandomSelection,
    Selection,
    UncertaintySelection,
)
from dataenvgym.agents.self_consistency import SelfConsistencyEngine
from dataenvgym.agents.teacher_rewriter import TeacherRewriter
from dataenvgym.agents.tree_agent import TreeAgent
from dataenvgym.agents.tree_policies import (
    AlternatingPolicy,
    ConfigurableTreePolicy,
    FillBalancedPolicy,
    RandomTreePolicy,
)
from dataenvgym.agents.tree_situation import TreePolicy, TreeSituation

__all__ = [
    "Agent",
    "AlternatingPolicy",
    "Assignment",
    "BanditPolicy",
    "BlindPolicy",
    "ConfigurableTreePolicy",
    "EdgePolicy",
    "Engine",
    "ExecutionEngine",
    "ExecutionPreferenceEngine",
    "FillBalancedPolicy",
    "FreePolicy",
    "GoldEngine",
    "InfluenceSelection",
    "LLMEngine",
    "LLMTreePolicy",
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
    "SeededEngine",
    "Selection",
    "SelfConsistencyEngine",
    "Situation",
    "SkillListPolicy",
    "TeacherRewriter",
    "ThompsonPolicy",
    "TreeAgent",
    "TreePolicy",
    "TreeSituation",
    "UCBPolicy",
    "UncertaintySelection",
]
