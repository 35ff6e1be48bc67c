"""The teaching environments in which data-generation agents act."""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.environments.checks import RecordChecks
    from dataenvgym.environments.interface import PHASES, TeachingEnvironmentInterface
    from dataenvgym.environments.iterations import IterationFiles, IterationResult
    from dataenvgym.environments.skill_tree import SkillTree
    from dataenvgym.environments.teaching import OpenEnded, SkillList, TeachingEnvironment
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "PHASES",
    "IterationFiles",
    "IterationResult",
    "OpenEnded",
    "RecordChecks",
    "SkillList",
    "SkillTree",
    "TeachingEnvironment",
    "TeachingEnvironmentInterface",
]
