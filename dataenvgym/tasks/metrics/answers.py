"""Reads the answers of replies, and groups equal ones into classes for a majority vote.

The task's domain reads and compares answers (`answer_class`, `same_answer`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import TypeVar

from dataenvgym.errors import ConfigurationError
from dataenvgym.events import ContextThreadPool
from dataenvgym.records import CompletedTaskInstance, TaskInstance
from dataenvgym.records.tool_formats import as_reply, said_in
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import last_reply

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer", bound=Hashable)


def answers_of(
    task: Task, completed: Sequence[CompletedTaskInstance]
) -> list[tuple[str | None, str | None]]:
    """For each completed instance, its answer, and a note if the task failed to read it.

    If the task fails, the whole message is the answer, so that it keeps its vote. An instance with
    an error has no answer.
    """
    keys = [
        (id(c.instance), c.error, *(as_reply(m) for m in c.transcript if m.role == "assistant"))
        for c in completed
    ]
    different = dict(zip(keys, completed, strict=True))
    with ContextThreadPool(task.threads) as pool:
        read = pool.map(partial(_answer_of, task), different.values())
        found = dict(zip(different, read, strict=True))
    return [found[key] for key in keys]


def _answer_of(task: Task, completed: CompletedTaskInstance) -> tuple[str | None, str | None]:
    domain = task.domain_of(completed.instance)
    reply = last_reply(completed)
    if completed.error is not None or reply is None:
        return None, None
    try:
        if isinstance(domain, DialogueDomain):
            answer = domain.answer_given(completed)
        else:
            answer = domain.answer_class(completed.instance, said_in(reply))
    except ConfigurationError:  # all other instances would fail too
        raise
    except Exception as error:  # noqa: BLE001  errors of a task's code must not lose the score
        _log.warning("answer_class failed for %s", completed.instance.id, exc_info=error)
        note = f"answer_class failed, the message replaces it: {type(error).__name__}: {error}"
        return reply.strip() or None, note
    return answer, None


def sameness_of(task: Task, instance: TaskInstance) -> Callable[[str, str], bool]:
    """The task's comparison of two answers to the instance."""
    domain = task.domain_of(instance)
    return lambda one, other: one == other or bool(domain.same_answer(instance, one, other))


def classes_of(
    answers: Sequence[Answer | None], same: Callable[[Answer, Answer], bool]
) -> tuple[list[Answer], list[int | None]]:
    """Group equal answers; return one answer per class, and the class index of each answer.

    An answer belongs to the first class with an equal answer. The most frequent answers form
    classes first (ties in their order), because equality is not transitive: 1/3 equals 0.333333,
    which equals 333333/1000000, which does not equal 1/3.
    """
    founders: list[Answer] = []
    places: dict[Answer, int] = {}
    for answer, _ in Counter(a for a in answers if a is not None).most_common():
        place = next((i for i, known in enumerate(founders) if same(known, answer)), len(founders))
        if place == len(founders):
            founders.append(answer)
        places[answer] = place
    return founders, [None if a is None else places[a] for a in answers]
