"""Whose fault it is that an instance was not solved.

    student         it was judged, and is wrong
    user, judge     another speaker, by its name, broke its role or gave no usable reply
    environment     code of the task failed
    infrastructure  a model was out of reach: a server, a time limit, a budget; and whatever keeps
                    the student's own predictor from answering

Only a wrong answer counts in scores; the others are errors, each excluded and counted by its fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dataenvgym.records.instances import CompletedTaskInstance

STUDENT, ENVIRONMENT, INFRASTRUCTURE = "student", "environment", "infrastructure"
FAULTS = (STUDENT, ENVIRONMENT, INFRASTRUCTURE)
"""Those that are not the name of another speaker."""
_NAMED_FIRST = (ENVIRONMENT, "user", "judge")


def fault_of(completed: CompletedTaskInstance) -> str | None:
    """Whose fault it is; None if the instance was solved.

    Files of earlier versions do not say it: there, the name at the beginning of the error does.
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
    """How many instances have an error, by fault, sorted by name; empty if none has."""
    counts = Counter(fault_of(c) for c in completed if c.error is not None)
    return {fault: counts[fault] for fault in sorted(filter(None, counts))}
