"""Data-generation agents: policies, engines, and the agent that joins one of each."""

from dataenvgym.agents.agent import Agent
from dataenvgym.agents.plans import Assignment, Engine, Plan, Policy, Situation
from dataenvgym.agents.pocket_engine import PocketMathEngine
from dataenvgym.agents.policies import OpenEndedPolicy, RandomPolicy, SkillListPolicy

__all__ = [
    "Agent",
    "Assignment",
    "Engine",
    "OpenEndedPolicy",
    "Plan",
    "PocketMathEngine",
    "Policy",
    "RandomPolicy",
    "Situation",
    "SkillListPolicy",
]
