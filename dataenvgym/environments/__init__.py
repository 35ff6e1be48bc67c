"""The teaching environments, in which a data-generation agent acts."""

from dataenvgym.environments.checks import CheckedRecords, RecordChecks
from dataenvgym.environments.iterations import IterationFiles, IterationResult
from dataenvgym.environments.phases import PHASES, PhaseClock
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
    "TeachingEnvironment",
]
