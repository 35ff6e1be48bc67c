"""Rollouts: any predictor through any task environments, to completed instances.

engine            `rollout`, which puts the parts together
instance_rollout  one instance on its way through its environment: a generator of asks, in which the
                  student is asked like everybody else
driver            brings all of them to their end, many at once
speakers          a model that is asked: the student, or another one
others            the other ones, such as a user or a judge: predictors or teachers, by name
student_speaker   the student itself, now or with a former adapter, as one of them: self-play
faults            who is to blame: an instance's error is never a wrong answer

A speaker with `submit(conversation, sampling) -> Future` is asked at once, and each conversation
continues when its reply arrives. One that only has `predict` is asked in rounds: once no
conversation can continue without it, in chunks of the waiting ones among `chunk_size` neighboring
instances, so that what is batched with what depends on the instances and the options alone.
"""

from dataenvgym.rollouts.engine import rollout
from dataenvgym.rollouts.others import close_speakers, describe_speakers, speakers_of
from dataenvgym.rollouts.student_speaker import StudentSpeaker, student_speakers

__all__ = [
    "StudentSpeaker",
    "close_speakers",
    "describe_speakers",
    "rollout",
    "speakers_of",
    "student_speakers",
]
