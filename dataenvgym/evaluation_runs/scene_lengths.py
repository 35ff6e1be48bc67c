"""Check that scenes fit into a student's context before any of them is played."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Failure, PredictorInterface, Reply, SamplingParameters
from dataenvgym.records import Conversation, TaskInstance
from dataenvgym.tasks.base import Task

LONGER = (
    "Choose task=pocket_social, whose scenes are made for a small student, or a model with a "
    "longer context (model=openai/NAME, model=hf/NAME)"
)


def refuse_long_scenes(
    task: Task, predictor: PredictorInterface, instances: Sequence[TaskInstance]
) -> None:
    """Refuse a student whose context has no room for the beginning of a scene.

    Only a predictor with `refusals(conversations)` can be checked. No model is asked.

    Raises:
        ConfigurationError: naming the reason, and what to choose instead.
    """
    refusals: Any = getattr(predictor, "refusals", None)
    if refusals is None:
        return
    beginnings = _beginnings(task, instances)
    failures = [failure for failure in refusals(beginnings) if failure is not None]
    if failures:
        raise ConfigurationError(
            f"{len(failures)} of {len(beginnings)} scenes cannot begin with this student: "
            f"{failures[0].reason}. {LONGER}"
        )


def _beginnings(task: Task, instances: Sequence[TaskInstance]) -> Sequence[Conversation]:
    """The student's first conversation in each scene; a stand-in answers for other speakers."""
    task, listener = copy.copy(task), _Listener()
    task.others = {who: _Stand() for who in task.others}
    with suppress(_Heard):
        task.attempt(listener, instances)
    return listener.heard


class _Heard(BaseException):
    """Ends the rollout once the beginnings are known; not an `Exception`, so nothing handles it."""


class _Listener:
    def __init__(self) -> None:
        self.heard: Sequence[Conversation] = ()

    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        self.heard = tuple(conversations)
        raise _Heard


class _Stand:
    def predict(
        self, conversations: Sequence[Conversation], sampling: SamplingParameters
    ) -> list[Reply | Failure]:
        return [Reply(text="...") for _ in conversations]
