"""dataenvgym: a gym for agents that teach.

    from dataenvgym import InProcessPredictor, OpenEnded, PocketMathTask, run_episode

    environment = OpenEnded(PocketMathTask(), InProcessPredictor())
    summary = run_episode(environment, MyAgent(), iterations=5)

The names in `__all__` are the public API (see docs/api.md). Each is imported at first use, so
`import dataenvgym` stays fast. Importing the package registers its environments with gymnasium.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dataenvgym.registration import register_environments

if TYPE_CHECKING:
    from dataenvgym.agents import (
        Agent,
        LLMEngine,
        OpenEndedPolicy,
        PocketEngine,
        SkillListPolicy,
        TreeAgent,
    )
    from dataenvgym.environments import OpenEnded, SkillList, SkillTree
    from dataenvgym.episodes import Summary, run_episode
    from dataenvgym.errors import DataEnvGymError
    from dataenvgym.evaluation_runs import run_evaluation
    from dataenvgym.interfaces import (
        DataGenerationAgentInterface,
        EnvironmentInterface,
        Failure,
        Reply,
        SamplingParameters,
        TaskInterface,
        TrainablePredictorInterface,
    )
    from dataenvgym.llm import Teacher
    from dataenvgym.predictors import InProcessPredictor, OpenAIPredictor, VllmPredictor
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
    from dataenvgym.studies import run_study
    from dataenvgym.tasks import Outcome, Task, TaskEnvironment
    from dataenvgym.tasks.code.task import CodeTask
    from dataenvgym.tasks.math.pocket import PocketMathTask
    from dataenvgym.tasks.math.task import MathTask
    from dataenvgym.tasks.social.task import SocialTask
    from dataenvgym.tasks.tool_use.task import ToolUseTask

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

# Lowest part of the package first, so that looking up a name imports as little as possible.
_PARTS = (
    *("errors", "records", "interfaces", "llm", "tasks"),
    *("tasks.math.task", "tasks.code.task", "tasks.tool_use.task", "tasks.social.task"),
    *("tasks.math.pocket", "predictors", "environments", "agents"),
    *("episodes", "evaluation_runs", "studies"),
)

register_environments()

if not TYPE_CHECKING:  # a type checker would accept any name because of this function

    def __getattr__(name: str) -> object:
        if name in __all__:
            for part in _PARTS:
                module = import_module(f"dataenvgym.{part}")
                if hasattr(module, name):
                    globals()[name] = value = getattr(module, name)
                    return value
        raise AttributeError(f"module 'dataenvgym' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
