"""One few-shot problem: the student gives the output of the last input, and may try again.

This is `dataenvgym/FewShot-v0`; bare `gymnasium.make` works on the validation problems of pocket
few-shot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataenvgym.domains.few_shot.problem import (
    FewShotProblem,
    Grid,
    cells_of,
    read_grid,
)
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import Conversation, Message, TaskInstance
from dataenvgym.tasks.environment import Outcome, TaskEnvironment

ATTEMPTS = 2
AGAIN = "Give another output."


class FewShotEnvironment(TaskEnvironment):
    """Reward 1.0 if one of the student's attempts is exactly the output, else 0.0.

    A wrong attempt is answered by a request for another one, without the reason, as long as there
    are `max_turns`. A malformed grid is a wrong attempt; `info["note"]` says what is wrong with it.
    The scores are those of the last attempt: `cells`, the share of cells that are right (0 if the
    grid has another size), and `first_attempt`, whether the first one was right.

    Args:
        instances, max_turns, options: see `TaskEnvironment`.
    """

    def __init__(
        self, instances: Sequence[TaskInstance] = (), *, max_turns: int = ATTEMPTS, **options: Any
    ) -> None:
        super().__init__(instances, max_turns=max_turns, **options)
        self._output: Grid = ()

    def begin(self, instance: TaskInstance) -> Conversation:
        instance.data_as(FewShotProblem)
        self._output = output_of(instance)
        return self.prompt_template.conversation(instance.instruction)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        given = read_grid(conversation[-1].content)
        was_correct = given == self._output
        tries = sum(message.role == "assistant" for message in conversation)
        share = 0.0
        if not isinstance(given, str) and np.shape(given) == np.shape(self._output):
            share = float((cells_of(given) == cells_of(self._output)).mean())
        done = was_correct or tries >= self.max_turns
        return Outcome(
            messages=() if done else (Message(role="user", content=AGAIN),),
            reward=float(was_correct),
            done=done,
            was_correct=was_correct,
            info={"note": f"scoring: {given}"} if isinstance(given, str) else {},
            scores={
                "cells": share,
                "first_attempt": float(was_correct and tries == 1),
            },
        )


def output_of(instance: TaskInstance) -> Grid:
    """The gold output of a problem; InvalidInstanceError if its answer is not a grid."""
    found = read_grid(instance.answer or "")
    if isinstance(found, str):
        raise InvalidInstanceError(
            f"instance {instance.id!r}: the answer is {instance.answer!r:.80}, expected a grid as "
            f"rows of digits: {found}"
        )
    return found
