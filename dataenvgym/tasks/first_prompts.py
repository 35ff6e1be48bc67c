"""The first conversations that a student would answer, found without asking any model."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from dataenvgym.interfaces import Reply, SamplingParameters
from dataenvgym.records import Conversation, TaskInstance
from dataenvgym.tasks.adapted_task import AdaptedTask
from dataenvgym.tasks.base import Task


class Enough(BaseException):
    """Raised when the prompts are known; not an `Exception`, so no caller handles it as a failure.

    Attributes:
        heard: the prompts.
        purpose: of a teacher's.
    """

    def __init__(self, heard: Sequence[Conversation] = (), purpose: str = "") -> None:
        self.heard, self.purpose = tuple(heard), purpose


class Stub:
    """A predictor that gives the same reply to each question."""

    def __init__(self, says: str) -> None:
        self._says = says

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply]:
        return [Reply(text=self._says) for _ in conversations]


class _Listener:
    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply]:
        raise Enough(conversations)


def with_stubs(task: Task) -> Task:
    """The task with stubs for the other speakers, so that none of them is asked."""
    if others := task.others:
        task = copy.copy(task)
        task.others = {who: Stub(f"(the {who}'s answer)") for who in others}
        if isinstance(task, AdaptedTask):
            task.inner = copy.copy(task.inner)
            task.inner.others = task.others
    return task


def first_prompts(
    task: Task, instances: Sequence[TaskInstance] | None = None
) -> Sequence[Conversation]:
    """The first batch of conversations that the student would answer.

    Args:
        instances: the problems; None means those that the task evaluates on.
    """
    silent = with_stubs(task)
    try:
        if instances is None:
            silent.evaluate(_Listener())
        else:
            silent.attempt(_Listener(), instances)
    except Enough as enough:
        return enough.heard
    return ()
