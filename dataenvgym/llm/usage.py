"""Requests to a teacher and their cost: `teacher/usage.json` in the run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, runtime_checkable

from dataenvgym.records import Model
from dataenvgym.storage import read_json


class TeacherUsage(Model):
    """Counts of a teacher's calls, for all purposes together.

    Attributes:
        requests: questions that went to the server; a retry by the client is the same request.
        cached: questions answered from the cache, at no cost.
        unasked: questions that the budget did not reach.
        failed: requests that ended without an answer.
        unanswered: requests with an unknown result: they are in progress, or were when the run was
            killed or interrupted.
        malformed: answers that could not be used, even after repair.
        prompt_tokens, completion_tokens: as the server counts them; 0 if it does not report them.
        uncounted: answers for which the server did not report the number of tokens.
        cost: in US dollars; None if the price is unknown, or if there are uncounted answers or
            unanswered requests (never 0 for that reason).
    """

    requests: int = 0
    cached: int = 0
    unasked: int = 0
    failed: int = 0
    unanswered: int = 0
    malformed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float | None = None


@runtime_checkable
class CountsMalformed(Protocol):
    """A teacher that counts answers that could not be used."""

    def count_malformed(self, n: int = 1) -> None:
        """Count `n` answers as malformed."""
        ...


def count_malformed(teacher: object, n: int = 1) -> None:
    """Report `n` unusable answers to the teacher, if it counts them."""
    if n and isinstance(teacher, CountsMalformed):
        teacher.count_malformed(n)


def usage_file(directory: Path) -> Path:
    """The file of a run's teacher usage."""
    return directory / "teacher" / "usage.json"


def begun_file(directory: Path) -> Path:
    """The file with one byte for each request that a run's teacher began."""
    return directory / "teacher" / "begun"


def read_usage(directory: Path) -> TeacherUsage | None:
    """The present usage of the teacher of the run in `directory`; None if it asked nothing."""
    path, begun = usage_file(directory), begun_file(directory)
    n_begun = begun.stat().st_size if begun.exists() else 0
    if not path.exists() and not n_begun:
        return None
    usage = TeacherUsage.model_validate(read_json(path)) if path.exists() else TeacherUsage()
    n_more = n_begun - usage.requests  # begun after the account was last written
    if n_more <= 0:
        return usage
    update = {"requests": n_begun, "unanswered": usage.unanswered + n_more, "cost": None}
    return usage.model_copy(update=update)
