"""The data that everything else speaks of, as frozen pydantic models.

conversations  Message: one turn; a conversation is a tuple of messages, which may call Tools
instances      what the student is asked: a TaskInstance is one problem; a CompletedTaskInstance is
               that problem with the transcript, the reward and, where infrastructure failed, the
               error
faults         whose fault it is that an instance was not solved
reports        PerformanceReport: many completed instances summed up, overall and by skill
scores         named scores beside the reward
training       what the student learns from: a TrainingDatum is one training record, with its
               Provenance
parsing        training records from untrusted data
model          what all of them have in common

Models are parsed once, at the boundary (`parse_training_datum`, `parse_training_data`), and
trusted afterwards. All of them survive `model_dump_json` -> `model_validate_json` unchanged.
"""

from dataenvgym.records.conversations import (
    Conversation,
    Message,
    Tool,
    ToolCall,
    is_one_turn,
    turns_of,
)
from dataenvgym.records.instances import (
    CompletedTaskInstance,
    TaskInstance,
    check_ids,
    hashed_json,
)
from dataenvgym.records.model import Json, Model, Note, Text
from dataenvgym.records.parsing import parse_training_data, parse_training_datum
from dataenvgym.records.reports import PerformanceReport, SkillReport
from dataenvgym.records.scores import Scores, checked_scores
from dataenvgym.records.training import (
    ChatDatum,
    DatumKind,
    KTODatum,
    PreferenceDatum,
    Provenance,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
)

__all__ = [
    "ChatDatum",
    "CompletedTaskInstance",
    "Conversation",
    "DatumKind",
    "Json",
    "KTODatum",
    "Message",
    "Model",
    "Note",
    "PerformanceReport",
    "PreferenceDatum",
    "Provenance",
    "ScoredDatum",
    "Scores",
    "SkillReport",
    "SupervisedDatum",
    "TaskInstance",
    "Text",
    "TextDatum",
    "Tool",
    "ToolCall",
    "TrainingDatum",
    "check_ids",
    "checked_scores",
    "hashed_json",
    "is_one_turn",
    "parse_training_data",
    "parse_training_datum",
    "turns_of",
]
