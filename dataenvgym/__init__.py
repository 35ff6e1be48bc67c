"""dataenvgym: a gym for agents that teach.

    from dataenvgym import InProcessPredictor, OpenEnded, PocketMathTask, run_episode

    environment = OpenEnded(PocketMathTask(), InProcessPredictor())
    summary = run_episode(environment, MyAgent(), iterations=5)

The names in `__all__` are the public API (docs/reference/index.md). Each is imported at first use,
so `import dataenvgym` stays fast. Importing the package registers its environments with gymnasium.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in, register_environments

if TYPE_CHECKING:
    from dataenvgym.agents.agent import Agent, TreeAgent
    from dataenvgym.agents.engines.llm.engine import LLMEngine
    from dataenvgym.agents.engines.pocket import PocketEngine
    from dataenvgym.agents.policies.plain import OpenEndedPolicy, SkillListPolicy
    from dataenvgym.domains.code.task import CodeTask
    from dataenvgym.domains.math.pocket import PocketMathTask
    from dataenvgym.domains.math.task import MathTask
    from dataenvgym.domains.social.task import SocialTask
    from dataenvgym.domains.tool_use.task import ToolUseTask
    from dataenvgym.environments import OpenEnded, SkillList, SkillTree
    from dataenvgym.errors import DataEnvGymError
    from dataenvgym.interfaces import (
        DataGenerationAgentInterface,
        EnvironmentInterface,
        Failure,
        Reply,
        SamplingParameters,
        TaskInterface,
        TrainablePredictorInterface,
    )
    from dataenvgym.records import (
        ChatDatum,
        CompletedTaskInstance,
        KTODatum,
        Message,
        PreferenceDatum,
        ScoredDatum,
        SupervisedDatum,
        TaskInstance,
        TextDatum,
        TrainingDatum,
    )
    from dataenvgym.runs.episodes import Summary, run_episode
    from dataenvgym.runs.evaluation import run_evaluation
    from dataenvgym.students.predictors import InProcessPredictor, OpenAIPredictor, VllmPredictor
    from dataenvgym.studies.study import run_study
    from dataenvgym.tasks import Outcome, Task, TaskEnvironment
    from dataenvgym.teachers import Teacher

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "ChatDatum",
    "CodeTask",
    "CompletedTaskInstance",
    "DataEnvGymError",
    "DataGenerationAgentInterface",
    "EnvironmentInterface",
    "Failure",
    "InProcessPredictor",
    "KTODatum",
    "LLMEngine",
    "MathTask",
    "Message",
    "OpenAIPredictor",
    "OpenEnded",
    "OpenEndedPolicy",
    "Outcome",
    "PocketEngine",
    "PocketMathTask",
    "PreferenceDatum",
    "Reply",
    "SamplingParameters",
    "ScoredDatum",
    "SkillList",
    "SkillListPolicy",
    "SkillTree",
    "SocialTask",
    "Summary",
    "SupervisedDatum",
    "Task",
    "TaskEnvironment",
    "TaskInstance",
    "TaskInterface",
    "Teacher",
    "TextDatum",
    "ToolUseTask",
    "TrainablePredictorInterface",
    "TrainingDatum",
    "TreeAgent",
    "VllmPredictor",
    "register_environments",
    "run_episode",
    "run_evaluation",
    "run_study",
]

register_environments()

if not TYPE_CHECKING:  # a type checker would accept any name because of this function
    __getattr__ = names_in(__name__)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
