"""The teaching environments in which data-generation agents act."""

from dataenvgym.environments.checks import CheckedRecords, RecordChecks
from dataenvgym.environments.interface import PHASES, PhaseClock, TeachingEnvironmentInterface
from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.environments.skill_tree import SkillTree
from dataenvgym.environments.teaching import OpenEnded, SkillList, TeachingEnvironment

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
