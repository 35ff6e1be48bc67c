"""The teaching environments in which data-generation agents act."""

from dataenvgym.environments.checks import CheckedRecords, RecordChecks
from dataenvgym.environments.interface import TeachingEnvironmentInterface
from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.environments.phases import PHASES, PhaseClock
from dataenvgym.environments.record_environments import OpenEnded, SkillList
from dataenvgym.environments.skill_tree import SkillTree
from dataenvgym.environments.teaching import TeachingEnvironment

__all__ = [
    "PHASES",
    "CheckedRecords",
    "IterationFiles",
    "IterationResult",
    "OpenEnded",
    "PhaseClock",
    "RecordChecks",
    "SkillList",
    "SkillTree",
    "TeachingEnvironment",
    "TeachingEnvironmentInterface",
]
