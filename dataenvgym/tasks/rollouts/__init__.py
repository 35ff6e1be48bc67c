"""Rollouts: run any predictor through task environments; the results are completed instances.

instance_rollout  one instance in its environment: a generator of asks, in which the student is
                  asked like any other speaker; and who is at fault for an error, which is never a
                  wrong answer
driver            runs many of them to their end: `rollout`, and the questions to judges
speakers          asks a model: the student, or another speaker, such as a user or a judge: a
                  predictor, a teacher, or the student with an earlier adapter (self-play)

A speaker with `submit(conversation, sampling) -> Future` is asked at once, and each conversation
continues when its reply arrives. A speaker that only has `predict` is asked in rounds: when all
conversations wait, it gets the waiting ones in chunks, each among `chunk_size` neighboring
instances. So the batches depend only on the instances and the options.
"""

from dataenvgym.tasks.rollouts.driver import rollout
from dataenvgym.tasks.rollouts.speakers import (
    StudentSpeaker,
    close_speakers,
    describe_speakers,
    speakers_of,
    student_speakers,
)

__all__ = [
    "StudentSpeaker",
    "close_speakers",
    "describe_speakers",
    "rollout",
    "speakers_of",
    "student_speakers",
]
