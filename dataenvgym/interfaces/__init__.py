"""The four public protocols, and the small types that they exchange.

    agent --training data--> environment --training data--> predictor (trains)
      ^                          |
      |                          v
      +--completed instances-- task (rolls the predictor out, scores, reports)

To implement one takes about 20 lines and no base class: any object with the methods fits.
Implementations elsewhere in the package are examples, not base classes.
"""

from dataenvgym.interfaces.agents import (
    ActingAgentInterface,
    DataGenerationAgentInterface,
    Stateful,
    TeachingAgent,
)
from dataenvgym.interfaces.forwarding import ForwardingPredictor
from dataenvgym.interfaces.helpers import (
    RecordCheckInterface,
    SkillLabel,
    SkillLabelerInterface,
    TeacherInterface,
)
from dataenvgym.interfaces.predictors import (
    AdapterJob,
    Ask,
    Closes,
    Connects,
    Describes,
    Failure,
    ManyAdapters,
    MeasuresRecords,
    PhaseFactory,
    PredictorInterface,
    Refuses,
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
from dataenvgym.interfaces.tasks import EnvironmentInterface, TaskInterface

__all__ = [
    "ActingAgentInterface",
    "AdapterJob",
    "Ask",
    "Closes",
    "Connects",
    "DataGenerationAgentInterface",
    "Describes",
    "EnvironmentInterface",
    "Failure",
    "ForwardingPredictor",
    "ManyAdapters",
    "MeasuresRecords",
    "PhaseFactory",
    "PredictorInterface",
    "RecordCheckInterface",
    "Refuses",
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
