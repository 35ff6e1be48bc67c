"""Replays a saved sample: runs the environment again with the student's old messages.

If the environment has changed (another system prompt, a tool with another result), the judged
conversation differs from the one that the student answered; a note says where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dataenvgym.evaluation.samples import Sample
from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import CompletedTaskInstance, Conversation, TaskInstance
from dataenvgym.tasks.base import Task
from dataenvgym.tool_formats import as_reply

REPLAYED = "replayed: "
"""The beginning of a note on a conversation that differs."""

UNANSWERED = (
    "the environment asks for one more answer than the student gave when the sample was drawn; "
    "draw the sample again"
)
"""The error of a sample whose conversation would now continue."""


def can_be_replayed(sample: Sample) -> bool:
    """True if all of the student's messages are saved: a failure, if any, came after them."""
    last = sample.transcript[-1:]
    return sample.error is None or [message.role for message in last] == ["assistant"]


def replay(task: Task, instance: TaskInstance, sample: Sample) -> CompletedTaskInstance:
    """Run the sample through the current environment."""
    if not can_be_replayed(sample):
        return sample.completed(instance)
    said = _Recorded(sample.transcript)
    sampling = task.sampling.model_copy(update={"seed": sample.seed})
    (completed,) = task.attempt(said, [instance], sampling=sampling)
    notes = [completed.note, _difference(sample.transcript, completed, left=said.left)]
    note = "; ".join(n for n in notes if n) or None
    return completed.model_copy(update={"note": note})


class _Recorded:
    """A student that repeats its messages, without assistant turns that belong to the prompt."""

    def __init__(self, transcript: Conversation) -> None:
        self._texts = [as_reply(m) for m in transcript if m.role == "assistant"]
        self._said: Iterator[str] | None = None
        self.left = 0

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [self._next(conversation) for conversation in conversations]

    def _next(self, conversation: Conversation) -> Reply | Failure:
        if self._said is None:
            own = self._texts[sum(message.role == "assistant" for message in conversation) :]
            self._said, self.left = iter(own), len(own)
        text = next(self._said, None)
        if text is None:
            return Failure(reason=UNANSWERED)
        self.left -= 1
        return Reply(text=text)


def _difference(before: Conversation, completed: CompletedTaskInstance, *, left: int) -> str | None:
    """Describe the first difference on the environment's side; None if there is none."""
    if completed.error is not None:
        return None
    now = completed.transcript
    parted = (i for i, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
    if (place := next(parted, None)) is not None:
        return (
            f"{REPLAYED}message {place + 1} ({now[place].role}) has changed since the sample was "
            "drawn"
        )
    if left:
        return f"{REPLAYED}the environment ended it {left} of the student's messages earlier"
    if len(before) != len(now):
        return f"{REPLAYED}the conversation has {len(now)} messages, and had {len(before)}"
    return None
