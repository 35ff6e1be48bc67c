"""Grades answers: first on the fast path; a worker process decides the remaining ones.

`grade_pairs` is the full interface: it distinguishes a wrong answer from a check that failed.
`answers_equal` is the short one, for a single pair and a plain yes or no.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dataenvgym.errors import shorten
from dataenvgym.tasks.scoring.equality import MAX_LENGTH, settle
from dataenvgym.tasks.scoring.normalize import clean, unwrap_text
from dataenvgym.tasks.scoring.pool import shared_pool
from dataenvgym.tasks.scoring.process import WorkerReply, WorkerRequest
from dataenvgym.tasks.scoring.quantities import split_unit
from dataenvgym.tasks.scoring.reading import read
from dataenvgym.tasks.scoring.values import Equation, Formula, Group, Opaque, Reading

TIME_LIMIT = 5.0
"""Seconds that the check of one pair may take."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer equals its gold.

    Attributes:
        equal: the verdict; False if the check failed.
        error: why the check failed (it ran out of time or memory, its worker could not start),
            or None. A verdict with an error says nothing about the answer.
        exhausted: whether this pair caused the error, so that the answer counts as wrong: it took
            too much time or memory, or sympy cannot handle it. If False, the grader failed.
    """

    equal: bool
    error: str | None = None
    exhausted: bool = False


def grade_pairs(
    pairs: Sequence[tuple[str, str]], *, time_limit: float = TIME_LIMIT
) -> list[Verdict]:
    """Compare pairs of (gold, answer), both without delimiters such as `\\boxed{}`.

    Numbers and text are compared here, exactly. Formulas, also as items of a list or sides of an
    equation, are compared in worker processes, several at once. A worker that takes more than
    `time_limit` seconds is killed. It may be called from any thread and from several at once; it
    sets no alarm. An empty answer equals nothing.

    Returns:
        One verdict per pair, in order.
    """
    replies: dict[WorkerRequest, WorkerReply] = {}
    verdicts: dict[int, Verdict] = {}
    while len(verdicts) < len(pairs):
        questions: dict[WorkerRequest, None] = {}
        for index in range(len(pairs)):
            if index not in verdicts:
                verdict = _verdict(*pairs[index], replies)
                if isinstance(verdict, Verdict):
                    verdicts[index] = verdict
                else:
                    questions.update(dict.fromkeys(verdict))
        if questions:
            answers = shared_pool().run(list(questions), time_limit)
            replies.update(zip(questions, answers, strict=True))
    return [verdicts[index] for index in range(len(pairs))]


def answers_equal(gold: str, answer: str, *, time_limit: float = TIME_LIMIT) -> bool:
    """Whether `answer` is a correct way to write `gold` (see `dataenvgym.tasks.scoring.equality`).

    A check that fails, for example by running out of time, counts as not equal and is logged as a
    warning; use `grade_pairs` where the difference matters.
    """
    (verdict,) = grade_pairs([(gold, answer)], time_limit=time_limit)
    if verdict.error is not None:
        _logger.warning(
            "%r against %r: %s", shorten(answer, 200), shorten(gold, 200), verdict.error
        )
    return verdict.equal


def gold_problems(golds: Sequence[str], *, time_limit: float = TIME_LIMIT) -> list[str | None]:
    """For each gold, why it cannot be compared, or None; plain ones take microseconds."""
    problems: list[str | None] = [_plain_problem(gold) for gold in golds]
    doubtful = [index for index, gold in enumerate(golds) if problems[index] is None]
    doubtful = [index for index in doubtful if not _is_plain(read(clean(golds[index])))]
    if doubtful:
        requests = [WorkerRequest(_for_worker(golds[index]), None) for index in doubtful]
        for index, reply in zip(doubtful, shared_pool().run(requests, time_limit), strict=True):
            problems[index] = _reported_problem(golds[index], reply)
    return problems


def _verdict(
    gold: str, answer: str, replies: Mapping[WorkerRequest, WorkerReply]
) -> Verdict | list[WorkerRequest]:
    """The verdict of a pair, or the questions for the workers that it needs first."""
    asked: list[WorkerRequest] = []

    def ask(one: str, other: str) -> bool | None:
        asked.append(request := WorkerRequest(one, other))
        reply = replies.get(request)
        return reply.value if reply and reply.error is None else None

    if (equal := settle(gold, answer, ask)) is not None:
        return Verdict(equal)
    if unanswered := [request for request in asked if request not in replies]:
        return unanswered
    whole = WorkerRequest(_for_worker(gold), _for_worker(answer))
    failed = [request for request in asked if replies[request].error is not None]
    decisive = failed[0] if failed else whole
    if decisive not in replies:
        return [whole]
    reply = replies[decisive]
    return Verdict(reply.value, reply.error, reply.exhausted)


def _for_worker(text: str) -> str:
    number, _ = split_unit(clean(text))
    return unwrap_text(number)


def _plain_problem(gold: str) -> str | None:
    if not clean(gold):
        return f"the gold answer is {shorten(gold)!r}: expected an answer, found nothing in it"
    if len(gold) > MAX_LENGTH:
        return f"the gold answer has {len(gold)} characters: at most {MAX_LENGTH} can be compared"
    return None


def _is_plain(reading: Reading) -> bool:
    if isinstance(reading, Group):
        return all(map(_is_plain, reading.items))
    if isinstance(reading, Equation):
        return (bool(reading.name) or _is_plain(reading.left)) and _is_plain(reading.right)
    return not isinstance(reading, Opaque) and (
        not isinstance(reading, Formula) or reading.is_letter
    )


def _reported_problem(gold: str, reply: WorkerReply) -> str | None:
    if reply.error is not None:
        return f"the gold answer {gold!r} could not be checked: {reply.error}"
    if not reply.value:
        return f"the gold answer {gold!r} is not an expression that can be compared"
    return None
