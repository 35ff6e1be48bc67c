"""The data of the package, as frozen pydantic models.

conversations  Message: one turn; a conversation is a tuple of messages, which may call Tools
instances      TaskInstance: one problem; CompletedTaskInstance: the problem with the transcript,
               the reward and, if the infrastructure failed, the error
usage          Usage: what replies of models took: tokens, seconds and money
reports        PerformanceReport: a summary of completed instances, overall and by skill
training       TrainingDatum: one record for training, of one of six kinds, and its Provenance;
               parses records from untrusted data
model          the common base

Models are parsed once, at the boundary (`parse_training_datum`, `parse_training_data`), and
trusted afterwards. All of them round-trip `model_dump_json` -> `model_validate_json` unchanged.
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
    Scores,
    TaskInstance,
    check_ids,
    checked_scores,
    hashed_json,
)
from dataenvgym.records.model import Json, Model, Note, Text
from dataenvgym.records.reports import PerformanceReport, Refusal, SkillReport
from dataenvgym.records.training import (
    ChatDatum,
    DatumKind,
    KTODatum,
    LabeledAnswer,
    PreferenceDatum,
    Provenance,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    TrainingDatum,
    all_hold,
    parse_training_data,
    parse_training_datum,
)

__all__ = [
    "ChatDatum",
    "CompletedTaskInstance",
    "Conversation",
    "DatumKind",
    "Json",
    "KTODatum",
    "LabeledAnswer",
    "Message",
    "Model",
    "Note",
    "PerformanceReport",
    "PreferenceDatum",
    "Provenance",
    "Refusal",
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
    "all_hold",
    "check_ids",
    "checked_scores",
    "hashed_json",
    "is_one_turn",
    "parse_training_data",
    "parse_training_datum",
    "turns_of",
]
