"""Who is at fault if an instance was not solved.

    student         the answer was judged, and is wrong
    user, judge     another speaker, by its name, broke its role or gave no usable reply
    environment     code of the task failed
    infrastructure  a model was out of reach (a server, a time limit, a budget), or the student's
                    own predictor could not answer

Only wrong answers count in scores. All others are errors, excluded from scores and counted by
fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataenvgym.records.instances import CompletedTaskInstance

STUDENT, ENVIRONMENT, INFRASTRUCTURE = "student", "environment", "infrastructure"
FAULTS = (STUDENT, ENVIRONMENT, INFRASTRUCTURE)
"""The faults that are not the name of another speaker."""
_NAMED_FIRST = (ENVIRONMENT, "user", "judge")


def fault_of(completed: CompletedTaskInstance) -> str | None:
    """The party at fault; None if the instance was solved.

    In files of earlier versions, it is the name at the beginning of the error.
    """
    if completed.was_correct:
        return None
    if completed.error is None:
        return STUDENT
    if completed.fault is not None:
        return completed.fault
    named = completed.error.partition(":")[0]
    return named if named in _NAMED_FIRST else INFRASTRUCTURE


def count_faults(completed: Iterable[CompletedTaskInstance]) -> dict[str, int]:
    """The number of instances with an error, by fault, sorted by name; empty if there are none."""
    counts = Counter(fault_of(c) for c in completed if c.error is not None)
    return {fault: counts[fault] for fault in sorted(filter(None, counts))}
