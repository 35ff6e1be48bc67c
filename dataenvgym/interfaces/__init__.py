"""The four public protocols, and the few small types that pass through them.

    agent --training data--> environment --training data--> predictor (trains)
      ^                          |
      |                          v
      +--completed instances-- task (rolls the predictor out, scores, reports)

An outsider implements one of them in about 20 lines, with no base class: whatever has the
methods fits. Implementations elsewhere in the package are examples, not ancestors.
"""

from dataenvgym.interfaces.agents import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TeachingAgent,
)
from dataenvgym.interfaces.helpers import (
    RecordCheckInterface,
    SkillLabel,
    SkillLabelerInterface,
    TeacherInterface,
)
from dataenvgym.interfaces.predictors import (
    Ask,
    Closes,
    Connects,
    Describes,
    Failure,
    PhaseFactory,
    PredictorInterface,
    Reply,
    SamplingParameters,
    Saves,
    SharesBase,
    ShownStudentInterface,
    Submits,
    TrainablePredictorInterface,
    TrainingRun,
    TriesRecords,
)
from dataenvgym.interfaces.tasks import (
    EnvironmentInterface,
    TaskInterface,
)

__all__ = [
    "ActingAgentInterface",
    "Ask",
    "Closes",
    "Connects",
    "DataGenerationAgentInterface",
    "Describes",
    "EnvironmentInterface",
    "Failure",
    "PhaseFactory",
    "PredictorInterface",
    "RecordCheckInterface",
    "Reply",
    "SamplingParameters",
    "Saves",
    "SharesBase",
    "ShownStudentInterface",
    "SkillLabel",
    "SkillLabelerInterface",
    "Stateful",
    "Submits",
    "TaskInterface",
    "TeacherInterface",
    "TeachingAgent",
    "TrainablePredictorInterface",
    "TrainingRun",
    "TriesRecords",
]
