"""What a reply answers, and which answers are the same: the classes that a majority votes by.

A task may have

    answer_class(instance, reply) -> str | None     what the student's last message answers, in
                                                    a few characters; None: it has no answer
    same_answer(instance, one, other) -> bool       whether two of these that differ as text
                                                    answer the same, as 1/2 and 0.5 do

With `answer_class` alone, equal text is the same answer. Without it, the answer is the whole
message, stripped; an empty one is none.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import CompletedTaskInstance, TaskInstance

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer", bound=Hashable)


def answers_of(
    task: Any, completed: Sequence[CompletedTaskInstance]
) -> list[tuple[str | None, str | None]]:
    """For each completed instance its answer, and a note if the task failed to tell.

    An answer that the task fails on is the message as it stands, so that it still has its vote.
    One with an error has no answer.
    """
    reader = getattr(task, "answer_class", None)
    if reader is None:
        return [(_text_of(c), None) for c in completed]
    with ThreadPoolExecutor(getattr(task, "threads", 1)) as pool:
        return list(pool.map(lambda c: _answer_of(reader, c), completed))


def _answer_of(
    reader: Callable[[TaskInstance, str], str | None], completed: CompletedTaskInstance
) -> tuple[str | None, str | None]:
    if completed.error is not None or completed.response is None:
        return None, None
    try:
        answer = reader(completed.instance, completed.response)
    except ConfigurationError:  # nothing would get better with the next one
        raise
    except Exception as error:  # whatever a task's code does: the score stands
        _log.warning("answer_class failed for %s", completed.instance.id, exc_info=error)
        note = f"answer_class failed, the message stands for it: {type(error).__name__}: {error}"
        return _text_of(completed), note
    if answer is not None and not isinstance(answer, str):
        raise ConfigurationError(
            f"answer_class gave {answer!r} for {completed.instance.id!r}, expected text or None"
        )
    return answer, None


def _text_of(completed: CompletedTaskInstance) -> str | None:
    if completed.error is not None:
        return None
    return (completed.response or "").strip() or None


def sameness_of(task: Any, instance: TaskInstance) -> Callable[[str, str], bool]:
    """How the task compares two answers to the instance."""
    same = getattr(task, "same_answer", None)
    if same is None:
        return lambda one, other: one == other
    return lambda one, other: one == other or bool(same(instance, one, other))


def classes_of(
    answers: Sequence[Answer | None], same: Callable[[Answer, Answer], bool]
) -> tuple[list[Answer], list[int | None]]:
    """The different answers, and for each of `answers` the place of its class among them.

    An answer belongs to the first class that it is the same as. The most frequent answers found
    classes first (equally frequent ones in their order), because sameness need not carry over:
    1/3 is 0.333333, and that is 333333/1000000, which is not 1/3.
    """
    founders: list[Answer] = []
    places: dict[Answer, int] = {}
    for answer, _ in Counter(a for a in answers if a is not None).most_common():
        place = next((i for i, known in enumerate(founders) if same(known, answer)), len(founders))
        if place == len(founders):
            founders.append(answer)
        places[answer] = place
    return founders, [None if a is None else places[a] for a in answers]
