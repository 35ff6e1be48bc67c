"""Gymnasium spaces whose elements are our own records.

    TextSpace                 any Unicode text
    ConversationSpace         a conversation: a tuple of `Message`
    CompletedInstancesSpace   evaluated problems: a tuple of `CompletedTaskInstance`
    ReportSpace               one `PerformanceReport`
    RecordsSpace              a batch of training records: a tuple of `TrainingDatum`

An element is the frozen model itself, and a sequence is a tuple. Lists and dicts are not elements;
they are parsed before they reach a space. `sample()` draws small, sensible elements, not noise, so
gymnasium's checkers send what users send. `to_jsonable` and `from_jsonable` are inverse.

In a vector environment, n elements are a `gymnasium.spaces.Tuple` of n spaces. `SyncVectorEnv`
works with these spaces; `AsyncVectorEnv` needs `shared_memory=False`, because text has no fixed
size.
"""

from dataenvgym.records.spaces.conversation import ConversationSpace, RecordSpace, TextSpace
from dataenvgym.records.spaces.teaching import CompletedInstancesSpace, RecordsSpace, ReportSpace

__all__ = [
    "CompletedInstancesSpace",
    "ConversationSpace",
    "RecordSpace",
    "RecordsSpace",
    "ReportSpace",
    "TextSpace",
]
